/**
 * The engine behind a postgres:// address: puts the parts of this folder together into a `TopicStore`. Any number of
 * processes of any number of hosts may have it open; opening it is no hazard to anybody, so writes are never held.
 *
 * The engine may be away at any time, at the opening too: whoever can wait has the store at once, and every request is
 * refused until the engine is back and its schema and settings have been found right.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError, type TopicStore } from '../store.js'
import { type Connections, createConnections, type Write } from './connections.js'
import { Refused } from './engine.js'
import { createFencedRead, requireFence } from './fence.js'
import { createFigures } from './figures.js'
import { createKeyRecords } from './key-records.js'
import { createLease } from './lease.js'
import { createReads } from './reads.js'
import { createRemovals } from './removals.js'
import { migrateSchema, requireSchema } from './schema.js'
import { requireSettings } from './settings.js'
import type { Execute } from './statement.js'
import { inTurn } from './turns.js'
import { check, walk } from './whole.js'
import { createWrites } from './writes.js'

/** How long those who cannot wait for ever wait for an engine that cannot be reached, in ms: it may be restarting. */
const patienceMs = 6000
const patienceStepMs = 200

/** Those who can wait have their store after this long, whatever an engine is doing that does not answer, in ms. */
const handOverMs = 3000

const notYet = new StoreError('unavailable', 'the engine cannot be reached: it has not answered yet')

/** Statements of scans in flight in this process. */
const scansInFlightMax = 2

export interface PostgresOptions {
  /** Processes of this host that share what it takes of the engine's sessions; 1 unless told. */
  readonly sharers?: number
  /** Whether what clients fetch is proved to be from the primary; see fence.ts. */
  readonly fencedReads?: boolean
  /**
   * For those who can wait: the store is there at once, and this is told when the engine, once it was reached, proves to be none
   * that can be used. Others get their store when the engine was reached, or none.
   */
  readonly onUnusable?: (reason: Error) => void
}

/**
 * Opens the store at an address, whose schema must be there.
 *
 * @throws Error when it does not let us in, when its schema is not one for this program, when nothing in it is durable, or when it
 *   cannot hold every text; without `onUnusable` also when it cannot be reached
 */
export async function openPostgresStore(address: string, options: PostgresOptions = {}): Promise<TopicStore> {
  const { sharers = 1, fencedReads = false, onUnusable } = options
  const connections = createConnections(address, sharers)
  const look = (waitMs: number): Promise<Error | undefined> => lookAt(connections, fencedReads, waitMs)
  const canWait = onUnusable !== undefined
  const found = await (canWait ? Promise.race([look(0), sleep(handOverMs, notYet)]) : look(patienceMs))
  const refusal = found instanceof StoreError ? found : undefined
  if (found === undefined || (refusal !== undefined && canWait)) return createStore(connections, { refusal, look, fencedReads, onUnusable })
  await connections.close()
  throw found
}

/** What is wrong with the engine; undefined when nothing is. One that cannot be reached is tried again for `waitMs`. */
async function lookAt(connections: Connections, fencedReads: boolean, waitMs: number): Promise<Error | undefined> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      await requireSchema(connections)
      await requireSettings(connections)
      if (fencedReads) await requireFence(connections)
      return undefined
    } catch (error) {
      if (error instanceof Refused) return new Error(error.message, { cause: error })
      if (!(error instanceof StoreError) || performance.now() >= deadline) return error as Error
      await sleep(patienceStepMs)
    }
  }
}

interface StoreOptions {
  /** Why the engine could not be looked at; it is until it can. */
  readonly refusal: StoreError | undefined
  readonly look: (waitMs: number) => Promise<Error | undefined>
  readonly fencedReads: boolean
  readonly onUnusable: ((reason: Error) => void) | undefined
}

function createStore(connections: Connections, { refusal: unreached, look, fencedReads, onUnusable }: StoreOptions): TopicStore {
  let refusal = unreached
  let closed = false

  async function lookUntilReached(): Promise<void> {
    while (refusal !== undefined && !closed) {
      await sleep(patienceStepMs)
      const found = closed ? undefined : await look(0)
      if (found === undefined || found instanceof StoreError) refusal = found
      else return onUnusable?.(found)
    }
  }
  if (refusal !== undefined && onUnusable !== undefined) void lookUntilReached()

  const read: Execute = (statement, parameters) => (refusal === undefined ? connections.read(statement, parameters) : Promise.reject(refusal))
  const write: Write = (statement, parameters, sinceMs) =>
    refusal === undefined ? connections.write(statement, parameters, sinceMs) : Promise.reject(refusal)
  const guarded: Connections = { ...connections, read, write }
  const lease = createLease(guarded)
  const scan = inTurn(guarded.read, scansInFlightMax)
  const fetched = fencedReads ? createFencedRead(guarded) : guarded.read
  const { settled, ...changes } = createWrites(guarded, scan)
  const removals = createRemovals(guarded, scan, lease)
  return {
    ...createReads(fetched, fencedReads ? inTurn(fetched, scansInFlightMax) : scan),
    ...changes,
    ...createKeyRecords(guarded),
    removeDue: removals.removeDue,
    walk: (plan, cancellation) => walk(guarded, plan, cancellation),
    check: (report) => check(guarded, report),
    figures: createFigures(guarded),
    notReady: () => (refusal ?? connections.failure())?.message,
    hold: () => Promise.resolve(),
    release() {},
    async close() {
      closed = true
      await removals.close()
      await settled()
      await lease.end().catch(() => {})
      await connections.close()
    },
  }
}

/** Makes or migrates the schema at an address. See `migrateSchema`. */
export async function migratePostgresStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  const connections = createConnections(address, 1)
  try {
    return await migrateSchema(connections)
  } finally {
    await connections.close()
  }
}
