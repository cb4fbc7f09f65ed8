/**
 * Opens the engine at a postgres:// address: assembles the parts of this folder into a `TopicStore`. Any number of
 * processes of any number of hosts may have it open at the same time, so writes are never paused.
 *
 * The engine may be away at any time, including at the start. A caller that can wait gets the store anyway, and every
 * request is rejected until the engine is reached and its schema and settings are found to be usable.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../base/within.js'
import { changesKeptDefault } from '../../settings/limits.js'
import { StoreError } from '../errors.js'
import type { TopicStore } from '../store.js'
import { check } from './check.js'
import { explained } from './connection/advice.js'
import { Connections, type Transact, type Write, type WriteLogged } from './connection/connections.js'
import { Refused } from './connection/engine.js'
import { createFence, type Fence, requireFence } from './connection/fence.js'
import { FirstContact, retryMs } from './connection/first-contact.js'
import { Lease } from './connection/lease.js'
import { requireSettings } from './connection/server-settings.js'
import { createKeyRecords } from './key-records.js'
import { LogFollower } from './read/log-follower.js'
import { isAfter } from './read/log-place.js'
import { createLogReads } from './read/log-snapshot.js'
import { countMatching } from './read/match-scan.js'
import { createReads } from './read/reads.js'
import { walk } from './read/walk.js'
import { Expiry } from './removal/expiry.js'
import { migrateSchema, requireSchema } from './schema.js'
import { createLimit, limitConcurrency } from './sql/concurrency.js'
import type { Execute } from './sql/statement.js'
import { createStats } from './stats.js'
import { Batches } from './write/batches.js'
import { Commits } from './write/commits.js'
import { createLogTrimming } from './write/log-trimming.js'
import { aloneOf, Writes } from './write/writes.js'

/**
 * How long an engine that cannot be reached is tried for a caller that cannot wait longer, in ms: it may be restarting.
 */
const patienceMs = 6000

/** After this long, in ms, a caller that can wait gets its store, although the engine has not answered. */
const handOverMs = 3000

const noAnswer = new StoreError('unavailable', 'the PostgreSQL server cannot be reached: it has not responded yet')

/** Statements of scans in flight in this process. */
const scansInFlightMax = 2

/** Snapshots of the log in this process: each has a session for some round trips. */
const snapshotsMax = 3

export interface PostgresOptions {
  /** Processes of this host that share its part of the engine's sessions; 1 by default. */
  readonly sharers?: number
  /** Whether fetches wait for proof that the engine is still the primary; see connection/fence.ts. */
  readonly fencedReads?: boolean
  /** How many changes of topics the log keeps, about. `changesKeptDefault` by default. */
  readonly changesKept?: number
  /**
   * For callers that can wait: they get the store at once, and this is called if the engine, once reached, proves
   * unusable. Without it the store is returned only when the engine was reached and is usable.
   */
  readonly onUnusable?: (reason: Error) => void
}

/**
 * Opens the store at an address, whose schema must exist.
 *
 * @throws Error when the engine refuses access, its schema does not fit this program, its commits are not durable, or
 *   it cannot store every text; without `onUnusable` also when it cannot be reached
 */
export async function openPostgresStore(address: string, options: PostgresOptions = {}): Promise<TopicStore> {
  const { sharers = 1, fencedReads = false, changesKept = changesKeptDefault, onUnusable } = options
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
  return createStore(connections, contact, fencedReads, changesKept)
}

/** What is wrong with the engine; undefined when nothing is. One that cannot be reached is tried again for `waitMs`. */
async function problemOf(connections: Connections, fencedReads: boolean, waitMs: number): Promise<Error | undefined> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      await requireSchema(connections)
      await requireSettings(connections)
      if (fencedReads) await requireFence(connections)
      return undefined
    } catch (error) {
      if (error instanceof Refused) return new Error(error.message, { cause: error })
      if (!(error instanceof StoreError)) return new Error(explained(error as Error), { cause: error })
      if (performance.now() >= deadline) return error
      await sleep(retryMs)
    }
  }
}

function createStore(
  connections: Connections,
  contact: FirstContact,
  fencedReads: boolean,
  changesKept: number,
): TopicStore {
  const read: Execute = (statement, parameters) => contact.rejection() ?? connections.read(statement, parameters)
  const write: Write = (statement, parameters, sinceMs) =>
    contact.rejection() ?? connections.write(statement, parameters, sinceMs)
  const follower = new LogFollower(read)
  const noted = <T>(committed: Promise<T>): Promise<T> => committed.finally(() => follower.committed())
  const writeLogged: WriteLogged = (statement, parameters, sinceMs) =>
    contact.rejection() ?? noted(connections.writeLogged(statement, parameters, sinceMs))
  const lease = new Lease(write)
  const scan = limitConcurrency(read, scansInFlightMax)
  const fence: Fence = fencedReads ? createFence({ write, timeline: connections.timeline }) : (work) => work()
  const clientRead: Execute = fencedReads ? (statement, parameters) => fence(() => read(statement, parameters)) : read
  const clientScan = fencedReads ? limitConcurrency(clientRead, scansInFlightMax) : scan
  const transact: Transact = (work, sinceMs) => contact.rejection() ?? noted(connections.transact(work, sinceMs))
  const atOnce = createLimit(snapshotsMax)
  const commits = new Commits(writeLogged)
  const writes = new Writes(read, scan, commits)
  const batches = new Batches(transact, commits)
  const expiry = new Expiry({ read, write, writeLogged }, scan, lease)
  const trimLog = createLogTrimming({ read, write }, lease, changesKept)
  return {
    ...createReads(clientRead, clientScan),
    removeMatches: (plan, cancellation) => writes.removeMatches(plan, cancellation),
    countMatches: (plan, type, cancellation) => countMatching(clientScan, plan, type, cancellation),
    write(operations, isAtomic = true) {
      const alone = isAtomic ? aloneOf(operations) : undefined
      return alone === undefined ? batches.write(operations, isAtomic) : writes.write(alone)
    },
    commits: commits.stats,
    async removeDue(planOf) {
      const removals = await expiry.removeDue(planOf)
      await trimLog()
      return removals
    },
    inSnapshot: (work) =>
      contact.rejection() ?? atOnce(() => fence(() => connections.readAtOnce((read) => work(createLogReads(read))))),
    isAfter,
    followLog: follower.followLog,
    ...createKeyRecords({ read, write }),
    walk: (plan, cancellation) => walk(connections, plan, cancellation),
    check: (report, planOf, _onProgress, cancellation) => check(connections, report, planOf, cancellation),
    stats: createStats(read),
    notReady: () => (contact.refusal ?? connections.failure)?.message,
    async close() {
      contact.close()
      follower.close()
      await expiry.close()
      await Promise.all([writes.drained(), batches.drained()])
      await lease.end().catch(() => {})
      await connections.close()
    },
  }
}

/** Creates or migrates the schema at an address. See `migrateSchema`. @throws Error whose message says what to do */
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
