/** Automatic removal that is interrupted by a close or an update: nothing is late, and nothing is repeated. */

import { join } from 'node:path'
import t from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties } from '../../dist/topics/topic.js'
import { Clocks } from '../support/clocks.js'
import { creation, findingsOf, single } from '../support/stores/store.js'
import { eventually, turn } from '../support/turns.js'

const minute = 60_000
const hour = 60 * minute
const value = Buffer.from('1')

/** A topic's properties: its REMOVAL, if there is one. */
const withRemoval = (removal: string | undefined): Properties => (removal === undefined ? {} : { REMOVAL: removal })

function createMany(store: TopicStore, count: number, removal?: string): Promise<unknown> {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      single.addAndSet(store, creation(`many/${i}`, 'json', withRemoval(removal)), value),
    ),
  )
}

const topicCount = (store: TopicStore): number => (store.stats() as { topics: number }).topics

await t.test('an adjustment to a clock step is completed at the next opening if a close interrupted it', async (t) => {
  const clocks = new Clocks()
  const options = { directory: join(t.testdir(), 'db'), clock: clocks.read }
  const topics = 5000
  const first = openLmdbStore(options)
  await first.removeDue(planSelector)
  await createMany(first, topics, 'when no updates for 10m')
  clocks.step(-5 * hour)
  const writes = first.commits?.writes ?? 0
  const sweep = first.removeDue(planSelector)
  await eventually(() => (first.commits?.writes ?? 0) > writes)
  await first.close()
  await sweep
  const moved = (first.commits?.writes ?? 0) - writes
  t.ok(moved < topics, `ended after ${moved} of ${topics}`)

  const second = openLmdbStore(options)
  await second.removeDue(planSelector)
  clocks.pass(10 * minute)
  t.equal((await second.removeDue(planSelector)).removed, topics, 'all topics are removed in time')
  await second.close()
})

await t.test('a remove clause is executed once even if its topic is updated during the removal', async (t) => {
  const clocks = new Clocks()
  const store = openLmdbStore({ directory: join(t.testdir(), 'db'), clock: clocks.read })
  const topics = 5000
  await single.addAndSet(
    store,
    creation('guard', 'json', withRemoval("when no updates for 10m remove '*many//'")),
    value,
  )
  await createMany(store, topics)
  clocks.pass(10 * minute)
  await store.removeDue(planSelector)
  await eventually(() => topicCount(store) <= topics)
  t.equal(await single.set(store, 'guard' as Path, 'json', value), 'set')
  t.ok(topicCount(store) > 1, 'the matches are being removed')
  await eventually(() => topicCount(store) === 1)
  while ((await store.removeDue(planSelector)).nextMs !== undefined) await turn()
  await createMany(store, 1)
  clocks.pass(hour)
  t.match(await store.removeDue(planSelector), { removed: 0, nextMs: undefined }, 'the policy has ended')
  t.equal(topicCount(store), 2, 'topics created later stay')
  const findings = await findingsOf(store)
  t.strictSame(findings, [])
  await store.close()
})
