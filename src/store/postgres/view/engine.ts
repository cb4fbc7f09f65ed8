/** PostgreSQL as an engine that reads: which statements share a round trip, wait for proof, or see one moment. */

import type { Awaitable } from '../../../base/awaitable.js'
import { inSlice, type Slice } from '../../../base/time-slices.js'
import type { Engine, Records, Snapshot, View } from '../../engine.js'
import type { Connections } from '../connection/connections.js'
import type { Fence } from '../connection/fence.js'
import type { Snapshot as SessionSnapshot } from '../connection/snapshot.js'
import { createLimit, limitConcurrency } from '../sql/concurrency.js'
import type { Execute, Statement } from '../sql/statement.js'
import { LogFollower } from './follower.js'
import { RangeReads } from './range-reads.js'
import { scan } from './scan.js'
import { TopicReads } from './topic-reads.js'
import { PostgresView } from './view.js'

/** Statements of scans in flight in this process. */
const scansInFlightMax = 2

/** Snapshots of the log in this process: each has a session for some round trips. */
const snapshotsMax = 3

const readStoreId: Statement<{ value: string }> = {
  name: 'read_store_id',
  text: `select value from topicd.meta where name = 'store_id'`,
}

interface PostgresEngine extends Engine {
  readonly follower: LogFollower
}

/**
 * @param read for statements that need no proof
 * @param fence proves, before what a client asked for is returned, that the engine was still the primary
 */
export function createEngine(
  read: Execute,
  fence: Fence,
  connections: Pick<Connections, 'readAtOnce' | 'openSnapshot'>,
): PostgresEngine {
  const clientRead: Execute = (statement, parameters) => fence(() => read(statement, parameters))
  const clientScan = limitConcurrency(clientRead, scansInFlightMax)
  const shared = { topics: new TopicReads(clientRead), ranges: new RangeReads(clientRead) }
  const ofClients = new PostgresView(clientScan, shared)
  const own = new PostgresView(read, shared)
  const atOnce = createLimit(snapshotsMax)
  const follower = new LogFollower(read)
  let storeId: number | undefined
  return {
    async storeId() {
      storeId ??= Number((await read(readStoreId, []))[0]?.value)
      return storeId
    },
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
    openSnapshot: async () => held(await connections.openSnapshot(), shared),
    follow: follower.follow,
    follower,
  }
}

function held(session: SessionSnapshot, shared: ConstructorParameters<typeof PostgresView>[1]): Snapshot {
  const stated: Records | undefined = undefined
  return Object.assign(new PostgresView(session.read, shared), {
    scan: (asked: Parameters<Snapshot['scan']>[0], cancellation: Parameters<Snapshot['scan']>[1]) =>
      scan(session.read, asked, cancellation),
    stated,
    close: () => session.close(),
  })
}
