/**
 * The order of the log on PostgreSQL: a number of a lane is visible only when all before it are, whatever the sessions
 * that append to it do, and sessions that share a lane neither deadlock nor lose a write.
 */

import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { only } from '../support/elements.js'
import { readLog, requireContiguous } from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = Buffer.from('1')
const pathOf = (number: number): Path => `t/${number % 50}` as Path

/** One of several ways to change topics, each a statement of its own. */
function change(store: TopicStore, number: number): Promise<unknown> {
  const path = pathOf(number)
  const addAndSet: WriteOperation = { kind: 'addAndSet', ...creation(path), valueText: value }
  switch (number % 5) {
    case 0:
      return store.write([{ kind: 'set', path, type: 'json', valueText: value }])
    case 1:
      return store.write([addAndSet])
    case 2:
      return store.write([addAndSet, { ...addAndSet, ...creation(pathOf(number + 7)) }])
    case 3:
      return store.write([{ kind: 'add', ...creation(path), valueText: undefined }])
    default:
      return store.write([{ kind: 'remove', path, valueText: undefined }])
  }
}

async function openStores(
  t: Test,
  count: number,
): Promise<{ readonly address: string; readonly stores: TopicStore[] }> {
  const address = (await engine?.database()) ?? ''
  const stores = await Promise.all(
    Array.from({ length: count }, () => openStore(address, { directory: t.testdir(), sharers: count })),
  )
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  return { address, stores }
}

/**
 * Changes topics by all stores, while the log is read, until it has so many rows more and was read so often.
 *
 * @throws when a row appears late
 */
async function writeAndRead(address: string, stores: readonly TopicStore[], rowsMin: number, readsMin: number) {
  let reads = 0
  let before = await readLog(address)
  const begun = before.length
  const isOver = (): boolean => before.length - begun >= rowsMin && reads >= readsMin
  const writers = stores.flatMap((store, index) =>
    Array.from({ length: 10 }, async (_, writer) => {
      for (let number = 13 * index + writer; !isOver(); number += 11) await change(store, number)
    }),
  )
  while (!isOver()) {
    const log = await readLog(address)
    requireContiguous(log)
    const rows = new Map(log.map((row) => [`${row.lane} ${row.n}`, row]))
    for (const { lane, n, version } of before)
      if (rows.get(`${lane} ${n}`)?.version !== version) throw new Error(`row ${n} of lane ${lane} has changed`)
    before = log
    reads++
  }
  await Promise.all(writers)
}

async function findingsOf(store: TopicStore | undefined): Promise<readonly string[]> {
  const findings: string[] = []
  await store?.check((finding) => findings.push(finding), planSelector)
  return findings
}

await t.test('readers see the rows of a lane in order', { skip, timeout: 600_000 }, async (t) => {
  const { address, stores } = await openStores(t, 3)
  await writeAndRead(address, stores, 500, 50)
  const log = await readLog(address)
  const lanes = new Set(log.filter(({ paths }) => paths.length > 0).map(({ lane }) => lane))
  t.comment(`${log.length} rows in ${lanes.size} lanes`)
  t.ok(lanes.size > 1, 'over several lanes')
  t.strictSame(await findingsOf(stores[0]), [])
})

/** Rounds after which sessions that share a lane must have met. */
const roundsMax = 20

await t.test('sessions that choose the same lane lose no write', { skip, timeout: 600_000 }, async (t) => {
  let conflicts = 0
  // There may be none in a round, since the sessions leave the lane after a first one.
  for (let round = 0; conflicts === 0 && round < roundsMax; round++) {
    const { address, stores } = await openStores(t, 1)
    const { random } = Math
    Math.random = () => 0
    try {
      await writeAndRead(address, stores, 300, 1)
    } finally {
      Math.random = random
    }
    t.strictSame(await findingsOf(stores[0]), [])
    // The engine counts them when a session ends.
    await Promise.all(stores.map((store) => store.close()))
    const statistics = 'select xact_rollback from pg_stat_database where datname = current_database()'
    conflicts = Number(only(await execute(address, statistics)).xact_rollback)
  }
  t.ok(conflicts > 0, `${conflicts} conflicts`)
})
