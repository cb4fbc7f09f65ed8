/**
 * How much the log on PostgreSQL keeps: of each lane, successive rows up to the last, and exactly those that a place with at
 * most as many changes after it as the settings say needs. How long places are answered: store/log-tokens.
 */

import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { skippableTime } from '../support/skipped-time.js'
import {
  type LoggedChange,
  lengthenLane,
  readLog,
  requireContiguous,
  setClockBack,
} from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { creation, findingsOf, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const lanes = 64
const value = Buffer.from('1')

/** Opens the store for some work, as a process of its own. */
async function withStore(
  t: Test,
  address: string,
  changesKept: number,
  work: (store: TopicStore) => Promise<unknown>,
): Promise<void> {
  const store = await openStore(address, { directory: t.testdir(), changesKept })
  try {
    await work(store)
    const findings = await findingsOf(store)
    t.strictSame(findings, [], 'it is sound')
  } finally {
    await store.close()
  }
}

/** Changes so many topics, by statements of up to ten. */
async function write(store: TopicStore, count: number): Promise<void> {
  for (let start = 0; start < count; start += 10)
    await Promise.all(
      Array.from({ length: Math.min(10, count - start) }, (_, i) =>
        single.addAndSet(store, creation(`t/${(start + i) % 100}`), value),
      ),
    )
}

const changesOf = (log: readonly LoggedChange[]): number => log.reduce((sum, { paths }) => sum + paths.length, 0)

/** The rows that are not followed in their lane by one that has more than so many changes after it, its own included. */
function neededOf(log: readonly LoggedChange[], changesKept: number): readonly LoggedChange[] {
  return log.filter(({ lane, n }) => {
    const next = log.find((row) => row.lane === lane && row.n === n + 1n)
    return (
      next === undefined || changesOf([next, ...log.filter(({ version }) => version > next.version)]) <= changesKept
    )
  })
}

/** The last number of each lane. */
const lastOf = (log: readonly LoggedChange[]) => new Map(log.map(({ lane, n }) => [lane, n]))

/** Enough for rows that a sweep has seen to be removed by the next one, in ms. */
const agedMs = 30_000

/** For all tests, since what a store's time slices remember must not lie in the future. */
const time = skippableTime(t)

/** For a store's work: it sees the log, and trims it after so long. */
function trimAfter(ms: number): (store: TopicStore) => Promise<void> {
  return async (store) => {
    await store.removeDue(planSelector)
    time.pass(ms)
    await store.removeDue(planSelector)
  }
}

const trim = trimAfter(agedMs)

await t.test('the newest changes and the last row of each lane stay', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, 1000, (store) => write(store, 600))
  await withStore(t, address, 200, trimAfter(agedMs / 2))
  const young = await readLog(address)
  t.equal(changesOf(young), 600, 'young ones stay')
  await withStore(t, address, 600, trim)
  t.equal(changesOf(await readLog(address)), 600, 'as many as are kept stay')
  await withStore(t, address, 200, trim)
  const kept = await readLog(address)
  t.strictSame(kept, neededOf(young, 200), 'the rows that a place needs are kept, and no others')
  const changes = changesOf(kept)
  t.ok(changes < 600, `${changes} are kept`)
  t.strictSame(lastOf(kept), lastOf(young), 'the last row of each lane stays')
  t.equal(requireContiguous(kept).size, lanes)
  await withStore(t, address, 200, (store) => write(store, 10))
  t.equal(changesOf(await readLog(address)), changes + 10, 'the lanes go on')
  await withStore(t, address, 1_000_000, trim)
  t.equal(changesOf(await readLog(address)), changes + 10, 'a greater number removes nothing')
})

await t.test('many rows are trimmed in several statements', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, 5000, (store) => write(store, 100))
  await lengthenLane(address, 2500)
  t.ok((await readLog(address)).length > 2500)
  await withStore(t, address, 1, trim)
  t.ok((await readLog(address)).length <= lanes + 1)
})

await t.test('versions in the future are trimmed as others are', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  await withStore(t, address, 1000, (store) => write(store, 600))
  await setClockBack(address, 3_600_000)
  await withStore(t, address, 200, async (store) => {
    await write(store, 100)
    const before = await readLog(address)
    await trim(store)
    t.strictSame(await readLog(address), neededOf(before, 200))
  })
})
