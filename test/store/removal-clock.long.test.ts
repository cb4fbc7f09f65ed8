/**
 * Automatic removal with a simulated clock. Topics are removed when they are due, to the millisecond, by the time that has really passed,
 * even if the wall clock steps or the machine restarts. Sweeps cost almost nothing while nothing is due.
 */

import { strict as assert } from 'node:assert'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { Clocks } from '../support/clocks.js'
import { creation, findingsOf, load, planned, single, spin, watched } from '../support/stores/store.js'
import { eventually } from '../support/turns.js'

const minute = 60_000
const hour = 60 * minute

const value = Buffer.from('1')

interface Fixture {
  readonly clocks: Clocks
  readonly store: TopicStore
  readonly add: (path: string, removal: string, more?: Readonly<Record<string, string>>) => Promise<unknown>
  readonly isThere: (path: string) => boolean
  /** Removes due topics, as the service does every second; returns their number. */
  readonly sweep: () => Promise<number>
}

async function withStore(t: Test): Promise<Fixture> {
  const clocks = new Clocks()
  const store = openLmdbStore({ directory: join(t.testdir(), 'db'), clock: clocks.read })
  t.teardown(async () => {
    const findings = await findingsOf(store)
    await store.close()
    assert.deepEqual(findings, [])
  })
  const sweep = async (): Promise<number> => (await store.removeDue(planSelector)).removed
  await sweep()
  return {
    clocks,
    store,
    add: (path, removal, more = {}) =>
      single.addAndSet(store, creation(path, 'json', { REMOVAL: removal, ...more }), value),
    isThere: (path) => typeof store.readTopic(path as Path, storedForms.json) !== 'string',
    sweep,
  }
}

const manyPaths = (count: number): string[] => Array.from({ length: count }, (_, i) => `many/${i}`)

/** Sweeps until `count` topics are removed; returns how many were removed. */
async function sweepUntil(count: number, sweep: () => Promise<number>): Promise<number> {
  let removed = 0
  await eventually(async () => {
    removed += await sweep()
    return removed >= count
  })
  return removed
}

await t.test('a topic is removed when it is due and not a millisecond earlier', async (t) => {
  const { clocks, add, isThere, sweep } = await withStore(t)
  await add('quiet', 'when no updates for 10m')
  await add('late', `when time after ${clocks.wallMs + 10 * minute}`)
  await add('grace', 'when no updates for 1m after 9m')
  clocks.pass(10 * minute - 1)
  t.equal(await sweep(), 0)
  t.ok(['quiet', 'late', 'grace'].every(isThere))
  clocks.pass(1)
  await sweep()
  clocks.pass(1)
  await sweep()
  t.notOk(['quiet', 'late', 'grace'].some(isThere), 'a point in time counts as passed one millisecond later')
})

await t.test('every set counts as an update, even if the value stays the same', async (t) => {
  const { clocks, store, add, isThere, sweep } = await withStore(t)
  await add('same', 'when no updates for 10m')
  await add('unretained', 'when no updates for 10m', { DONT_RETAIN_VALUE: 'true' })
  for (let round = 0; round < 3; round++) {
    clocks.pass(9 * minute)
    t.equal(await sweep(), 0, 'recently updated topics stay')
    for (const path of ['same', 'unretained'] as Path[]) t.equal(await single.set(store, path, 'json', value), 'set')
  }
  clocks.pass(10 * minute - 1)
  t.equal(await sweep(), 0)
  t.ok(['same', 'unretained'].every(isThere))
  clocks.pass(1)
  t.equal(await sweep(), 2)
})

await t.test('no removal is early or late because of a step of the wall clock', async (t) => {
  const { clocks, add, isThere, sweep } = await withStore(t)
  await add('before-ahead', 'when no updates for 10m')
  clocks.pass(minute)
  clocks.step(hour)
  t.equal(await sweep(), 0, 'not early when the clock is an hour ahead')
  clocks.pass(9 * minute - 1)
  t.equal(await sweep(), 0)
  t.ok(isThere('before-ahead'))
  clocks.pass(1)
  t.equal(await sweep(), 1, 'on time')

  await add('before-back', 'when no updates for 10m')
  clocks.pass(minute)
  clocks.step(-5 * hour)
  await sweep()
  await add('after-back', 'when no updates for 10m')
  clocks.pass(9 * minute)
  t.equal(await sweep(), 1, 'on time although the clock was set hours back')
  t.ok(isThere('after-back'))
  clocks.pass(minute)
  t.equal(await sweep(), 1)
})

await t.test('a removal policy with a point in time follows the current wall clock', async (t) => {
  const { clocks, add, isThere, sweep } = await withStore(t)
  await add('at', `when time after ${clocks.wallMs + hour}`)
  clocks.step(2 * hour)
  t.equal(await sweep(), 1, 'due once the clock is set past the time')
  await add('again', `when time after ${clocks.wallMs + hour}`)
  clocks.step(-3 * hour)
  clocks.pass(hour)
  t.equal(await sweep(), 0)
  t.ok(isThere('again'))
})

await t.test('a sweep after a restart removes only topics that became due', async (t) => {
  const { clocks, add, isThere, sweep } = await withStore(t)
  await add('short', 'when no updates for 10m')
  await add('long', 'when no updates for 2h')
  clocks.pass(minute)
  clocks.restart(hour)
  t.equal(await sweep(), 1)
  t.ok(isThere('long') && !isThere('short'))
  clocks.pass(59 * minute - 1)
  t.equal(await sweep(), 0)
  clocks.pass(1)
  t.equal(await sweep(), 1)
})

await t.test('two concurrent sweeps remove each due topic once', async (t) => {
  const { clocks, store, add } = await withStore(t)
  for (let i = 0; i < 500; i++) await add(`many/${i}`, 'when no updates for 10m')
  clocks.pass(10 * minute)
  const [first, second] = await Promise.all([store.removeDue(planSelector), store.removeDue(planSelector)])
  t.equal(first.removed + second.removed, 500, 'each is removed')
})

await t.test('a remove clause removes its matches once, and the topic with the clause stays', async (t) => {
  const { clocks, store, add, isThere, sweep } = await withStore(t)
  await add('guard', "when no updates for 10m remove '*guarded//'")
  for (const path of ['guarded', 'guarded/a', 'other']) await single.addAndSet(store, creation(path), value)
  clocks.pass(10 * minute)
  t.equal(await sweepUntil(2, sweep), 2)
  t.ok(isThere('guard') && isThere('other') && !isThere('guarded/a'))
  await eventually(async () => (await store.removeDue(planSelector)).nextMs === undefined)
  await single.addAndSet(store, creation('guarded'), value)
  clocks.pass(hour)
  t.match(await store.removeDue(planSelector), { removed: 0, nextMs: undefined }, 'the policy has ended')
  t.ok(isThere('guarded'), 'the clause is not executed again')
})

/** Plans of clauses that take ten seconds until `isSlow` is false. */
function slowPlans() {
  const plans = {
    isSlow: true,
    planOf: (selector: string) => watched(planned(selector), () => plans.isSlow && spin(10)),
  }
  return plans
}

await t.test('the removal of due topics does not wait for remove clauses', async (t) => {
  const { clocks, store, add, isThere } = await withStore(t)
  await add('guard', "when no updates for 10m remove '*.*nothing.*'")
  await load(store, manyPaths(1000))
  for (const [path, time] of [
    ['plain', '10m'],
    ['later', '11m'],
  ] as const)
    await add(path, `when no updates for ${time}`)
  clocks.pass(10 * minute)
  const plans = slowPlans()
  for (const path of ['plain', 'later']) {
    t.match(await store.removeDue(plans.planOf), { removed: 1 })
    t.notOk(isThere(path), path)
    clocks.pass(minute)
  }
  const { nextMs } = await store.removeDue(plans.planOf)
  t.ok(nextMs !== undefined && nextMs <= clocks.wallMs, 'the clause still waits')
  plans.isSlow = false
})

await t.test("an update of a topic defers the topic's waiting remove clause", async (t) => {
  const { clocks, store, add, isThere, sweep } = await withStore(t)
  for (const path of ['kept', 'gone']) await single.addAndSet(store, creation(path), value)
  await load(store, manyPaths(1000))
  await add('guard/1', "when no updates for 10m remove '*.*nothing.*'")
  await add('guard/2', "when no updates for 10m remove '>kept'")
  await add('guard/3', "when no updates for 10m remove '>gone'")
  clocks.pass(10 * minute)
  const plans = slowPlans()
  await store.removeDue(plans.planOf)
  t.equal(await single.set(store, 'guard/2' as Path, 'json', value), 'set', 'updated before its turn')
  plans.isSlow = false
  t.equal(await sweepUntil(1, sweep), 1)
  t.ok(isThere('kept') && !isThere('gone'))
})

await t.test('a remove clause interrupted by a close is completed after the store is opened again', async (t) => {
  const directory = join(t.testdir(), 'db')
  const clocks = new Clocks()
  const options = { directory, clock: clocks.read }
  const first = openLmdbStore(options)
  await first.removeDue(planSelector)
  const removal = "when no updates for 10m remove '*many//'"
  await single.addAndSet(first, creation('guard', 'json', { REMOVAL: removal }), value)
  const many = 20_000
  await load(first, manyPaths(many))
  clocks.pass(10 * minute)
  await first.removeDue(planSelector)
  const topics = (): number => (first.stats() as { topics: number }).topics
  await eventually(() => topics() <= many)
  await first.close()

  const second = openLmdbStore(options)
  t.teardown(() => second.close())
  const { topics: left } = second.stats() as { topics: number }
  t.ok(left > 1 && left <= many, `${left - 1} of ${many} topics are left at the close`)
  await sweepUntil(left - 1, async () => (await second.removeDue(planSelector)).removed)
  t.match(second.stats(), { topics: 1 }, 'only the topic with the policy is left')
  t.strictSame(await findingsOf(second), [])
})

/** Closes a store while its clause's removal is being committed; returns whether the policy has ended on reopening. */
async function endsAtStop(t: Test, directory: string): Promise<boolean> {
  const clocks = new Clocks()
  const options = { directory, clock: clocks.read }
  const first = openLmdbStore(options)
  const target = creation('target')
  await first.removeDue(planSelector)
  await single.addAndSet(
    first,
    creation('guard', 'json', { REMOVAL: "when no updates for 10m remove '>target'" }),
    value,
  )
  await single.addAndSet(first, target, value)
  clocks.pass(10 * minute)
  await first.removeDue(planSelector)
  await eventually(() => (first.commits?.inFlight ?? 0) > 0)
  await first.close()

  const second = openLmdbStore(options)
  t.equal(second.readTopic(target.path, storedForms.json), 'no_such_topic', 'the target was removed')
  await single.addAndSet(second, target, value)
  const { removed, nextMs } = await second.removeDue(planSelector)
  await second.close()
  return removed === 0 && nextMs === undefined
}

await t.test('a remove clause committed during a close is not repeated', async (t) => {
  const directory = t.testdir()
  let ended = false
  // Rarely, the close interrupts the scan between its match and its end; it is then correct to execute the clause again.
  for (let attempt = 0; attempt < 5 && !ended; attempt++) ended = await endsAtStop(t, join(directory, String(attempt)))
  t.ok(ended, 'nothing is due after the store is reopened')
})

await t.test('removal policies cost no writes and little time while none is due', async (t) => {
  const { clocks, store, add, sweep } = await withStore(t)
  async function leastCostMs(): Promise<number> {
    let leastMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < 50; i++) {
      const start = performance.now()
      await sweep()
      leastMs = Math.min(leastMs, performance.now() - start)
    }
    return leastMs
  }
  const empty = await leastCostMs()
  await Promise.all(manyPaths(20_000).map((path) => add(path, 'when no updates for 1h')))
  clocks.pass(hour - 1)
  const writes = store.commits?.writes
  const full = await leastCostMs()
  t.comment(`a sweep takes ${empty.toFixed(3)} ms without policies and ${full.toFixed(3)} ms with 20,000`)
  t.equal(store.commits?.writes, writes, 'nothing is written')
  t.ok(full < 10 * empty + 1, 'a sweep reads only the first policy')
  clocks.pass(1)
  t.equal(await sweep(), 20_000, 'all topics are removed when they are due')
})
