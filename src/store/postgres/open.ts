/**
 * Opens the engine at a postgres:// address: assembles the parts of this folder into a `TopicStore`. Any number of processes on any
 * number of hosts may have it open at the same time, so writes are never paused.
 *
 * The engine may be down at any time, including at the start. A caller that can wait gets the store anyway, and every request is
 * rejected until the engine is reached and its schema and settings are found to be usable.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Moment } from '../../base/clock.js'
import { within } from '../../base/within.js'
import { changesKeptDefault } from '../../settings/limits.js'
import { Expiry, type Lead, type Term } from '../core/removal/expiry.js'
import { Matches } from '../core/removal/matches.js'
import { createCore } from '../core/store.js'
import type { Engine } from '../engine.js'
import { StoreError } from '../errors.js'
import type { TopicStore } from '../store.js'
import { writingBy } from '../writing.js'
import { Committer } from './commit/committer.js'
import { createLogTrimming } from './commit/log-trimming.js'
import { explained } from './connection/advice.js'
import { Connections } from './connection/connections.js'
import { Refused } from './connection/engine.js'
import { createFence, type Fence } from './connection/fence.js'
import { FirstContact, retryMs } from './connection/first-contact.js'
import { Lease } from './connection/lease.js'
import { migrateSchema, requireSchema } from './schema.js'
import { momentOf } from './sql/columns.js'
import { readClock, type Statement } from './sql/statement.js'
import { createStats } from './stats.js'
import { createEngine } from './view/engine.js'

/** Time, in ms, to keep trying an unreachable engine for a caller that cannot wait longer: the engine may be restarting. */
const patienceMs = 6000

/** After this time, in ms, a caller that can wait gets its store even if the engine has not answered. */
const handOverMs = 3000

const noAnswer = new StoreError('unavailable', 'the PostgreSQL server cannot be reached: it has not responded yet')

export interface PostgresOptions {
  /** The number of processes on this host that divide the host's share of the engine's sessions; 1 by default. */
  readonly sharers?: number
  /** If true, fetches wait for proof that the engine is still the primary; see connection/fence.ts. */
  readonly fencedReads?: boolean
  /** Approximate; `changesKeptDefault` by default. */
  readonly changesKept?: number
  /**
   * For callers that can wait: they get the store even while the engine is unreachable, and this is called if it proves unusable
   * once reached. Without this, the store is returned only after the engine was reached and found usable.
   */
  readonly onUnusable?: (reason: Error) => void
  /** Called with the defect if a record of the log cannot be read; everything continues. */
  readonly onUnreadable?: (reason: Error) => void
}

/**
 * @throws Error if the engine refuses access, its schema is missing or does not fit this program, its commits are not durable, or
 *   it cannot store every string; without `onUnusable` also if it is unreachable
 */
export async function openPostgresStore(address: string, options: PostgresOptions = {}): Promise<TopicStore> {
  const { sharers = 1, fencedReads = false, changesKept = changesKeptDefault, onUnusable, onUnreadable } = options
  const connections = new Connections(address, sharers)
  const examine = (waitMs: number): Promise<Error | undefined> => problemOf(connections, fencedReads, waitMs)
  const problem = await (onUnusable === undefined
    ? examine(patienceMs)
    : within(handOverMs, examine(0), () => noAnswer))
  if (problem !== undefined && (onUnusable === undefined || !(problem instanceof StoreError))) {
    await connections.close()
    throw problem
  }
  const contact = new FirstContact(problem, () => examine(0), onUnusable)
  return createStore(connections, contact, fencedReads, changesKept, onUnreadable)
}

/** Retries an unreachable engine for `waitMs`. */
async function problemOf(connections: Connections, fencedReads: boolean, waitMs: number): Promise<Error | undefined> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      await requireSchema(connections)
      await requireSettings(connections, fencedReads)
      return undefined
    } catch (error) {
      if (error instanceof Refused) return new Error(error.message, { cause: error })
      if (!(error instanceof StoreError)) return new Error(explained(error as Error), { cause: error })
      if (performance.now() >= deadline) return error
      await sleep(retryMs)
    }
  }
}

/**
 * The settings of the engine that topicd checks: acknowledged commits must be on disk, the engine must be able to store every
 * string, and fenced reads need a standby. An engine that does not know a setting cannot have a wrong value for it.
 */
const settings = ['fsync', 'server_encoding', 'synchronous_standby_names'] as const

const readSettings: Statement<Record<(typeof settings)[number], string | null>> = {
  name: 'read_settings',
  text: `select ${settings.map((name) => `current_setting('${name}', true) as ${name}`).join(', ')}`,
}

/** @throws Error whose message tells users what to change; StoreError if the engine is unreachable */
async function requireSettings({ read }: Pick<Connections, 'read'>, fencedReads: boolean): Promise<void> {
  const [row] = await read(readSettings, [])
  if (row?.fsync === 'off')
    throw new Error('the PostgreSQL server runs with fsync = off, so nothing it acknowledges is durable: turn it on')
  const encoding = row?.server_encoding ?? 'UTF8'
  if (encoding !== 'UTF8')
    throw new Error(`the database has the encoding ${encoding}, not UTF8: create a database with UTF8`)
  if (fencedReads && (row?.synchronous_standby_names ?? '') === '')
    throw new Error('fenced reads prove nothing without a synchronous standby: set synchronous_standby_names')
}

function createStore(
  connections: Connections,
  contact: FirstContact,
  fencedReads: boolean,
  changesKept: number,
  onUnreadable: PostgresOptions['onUnreadable'],
): TopicStore {
  const read = contact.gated(connections.read)
  const write = contact.gated(connections.write)
  const transact = contact.gated(connections.transact)
  const fence: Fence = fencedReads ? createFence({ write, timeline: connections.timeline }) : (work) => work()
  const lease = new Lease(write)
  const readAtOnce = contact.gated(connections.readAtOnce)
  const engine = createEngine(read, fence, { readAtOnce, openSnapshot: contact.gated(connections.openSnapshot) })
  const committer = new Committer({ read, write, transact }, engine.follower.committed)
  const core = createCore(
    engine,
    writingBy((request) => committer.commit(request)),
    onUnreadable,
  )
  const now = async (): Promise<Moment> => momentOf((await read(readClock, []))[0]?.now ?? '0')
  const expiry = new Expiry(engine, leadBy(engine, committer, lease), { now, comparesClocks: false })
  const trimLog = createLogTrimming({ write }, lease, changesKept)
  return {
    ...core,
    commits: committer.stats,
    async removeDue(planOf) {
      const removals = await expiry.removeDue(planOf)
      await trimLog()
      return removals
    },
    stats: createStats(read, core.readRange),
    notReady: () => (contact.refusal ?? connections.failure)?.message,
    async close() {
      contact.close()
      engine.follower.close()
      await expiry.close()
      await committer.drained()
      await lease.end().catch(() => {})
      await connections.close()
    },
  }
}

/** Leads while the process holds the lease: requests made during a term are not executed after it. */
function leadBy(engine: Engine, committer: Committer, lease: Lease): Lead {
  return (work) =>
    lease.whileHeld((lost) => {
      const commit: Term['commit'] = async (request) => {
        if (lost.aborted) throw new StoreError('unavailable', 'another process may evaluate removals now')
        return committer.commit(request, lost.untilMs())
      }
      return work({ lost, commit, removeMatches: new Matches(engine, writingBy(commit).write).removeMatches })
    })
}

/** See `migrateSchema`. @throws Error whose message tells users what to do */
export async function migratePostgresStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  const connections = new Connections(address, 1)
  try {
    return await migrateSchema(connections)
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new Error(explained(error as Error), { cause: error })
  } finally {
    await connections.close()
  }
}
