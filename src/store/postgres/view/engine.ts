/** PostgreSQL as a reading engine: decides which statements share a round trip, wait for proof, or read one snapshot. */
import type { Awaitable } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import { inSlice, type Slice } from '../../../base/time-slices.js'
import type { Engine, Scan, View } from '../../engine.js'
import type { Connections } from '../connection/connections.js'
import type { Fence } from '../connection/fence.js'
import { readNumber } from '../records.js'
import type { Execute } from '../sql/statement.js'
import { LogFollower } from './follower.js'
import { scan } from './scan.js'
import { SharedReads } from './shared-reads.js'
import { PostgresView } from './view.js'

/** Maximum scan statements in flight in this process, so that sessions stay free regardless of the number of scans. */
const scansInFlightMax = 2

/** Maximum snapshots of the log in this process: each occupies a session for a few round trips. */
const snapshotsMax = 3

interface PostgresEngine extends Engine {
  readonly follower: LogFollower
}

/** @param read reads without proof @param fence proves, before a client's read returns, that the engine was still the primary */
export function createEngine(
  read: Execute,
  fence: Fence,
  connections: Pick<Connections, 'readAtOnce' | 'openSnapshot'>,
): PostgresEngine {
  const clientRead: Execute = (statement, parameters) => fence(() => read(statement, parameters))
  const inTurn = createLimit(scansInFlightMax)
  const clientScan: Execute = (statement, parameters) => inTurn(() => clientRead(statement, parameters))
  const shared = new SharedReads(clientRead)
  const ofClients = new PostgresView(clientScan, shared)
  const own = new PostgresView(read, shared)
  const atOnce = createLimit(snapshotsMax)
  const follower = new LogFollower(read)
  return {
    storeId: async () => Number((await read(readNumber, ['store_id']))[0]?.value),
    waits: true,
    now: () => ofClients,
    atOnce: (work) => work(own),
    inSnapshot: <T>(work: (view: View, slice: Slice) => Awaitable<T>) =>
      atOnce(() =>
        fence(() =>
          connections.readAtOnce((inSnapshot) => inSlice((slice) => work(new PostgresView(inSnapshot, shared), slice))),
        ),
      ),
    scan: (asked, cancellation) => scan(clientScan, asked, cancellation),
    async openSnapshot() {
      const { read: inSnapshot, close } = await connections.openSnapshot()
      return Object.assign(new PostgresView(inSnapshot, shared), {
        scan: (asked: Scan, cancellation: Cancellation) => scan(inSnapshot, asked, cancellation),
        stated: undefined,
        close,
      })
    },
    follow: follower.follow,
    follower,
  }
}

/** Limits concurrent work to `inFlightMax`, in arrival order. */
function createLimit(inFlightMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let inFlight = 0
  return async (work) => {
    if (inFlight === inFlightMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else inFlight++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) inFlight--
      else next()
    }
  }
}
