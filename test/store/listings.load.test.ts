/**
 * Fetches with random selectors, page by page on each engine, compared with a plain Map. They cover both types or one, values, properties,
 * versions, every branch limit, and keys with and without subtrees. `SEED=…` replays a run.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { accessOf } from '../../dist/auth/access.js'
import { sliceMs } from '../../dist/base/time-slices.js'
import { restrict } from '../../dist/keys/rights.js'
import type { Plan } from '../../dist/selectors/plan.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { ItemForm } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { itemsOf, type Members, matcherOf, type Topic, type TopicType, treeOrder } from '../support/models/model.js'
import { randomPath, randomSelector } from '../support/models/selectors.js'
import { type Random, seededRandom } from '../support/random.js'
import {
  creation,
  load,
  planned,
  readItems,
  single,
  spin,
  versionShown,
  waiting,
  watched,
} from '../support/stores/store.js'
import { eachStore } from '../support/stores/stores.js'

const topicCount = 500
const walks = 300

const someProperties: readonly Readonly<Record<string, string>>[] = [
  { colour: 'green' },
  { VALIDATE_VALUES: 'true', 'é"\\': '}\u0001' },
  { REMOVAL: 'when no updates for 1d', ['__proto__']: '' },
  { DONT_RETAIN_VALUE: 'true' },
]

/** Topics of both types, some without a value, some with properties. */
async function plant(store: TopicStore, random: Random): Promise<Map<string, Topic>> {
  const topics = new Map<string, Topic>()
  const writes: Promise<unknown>[] = []
  for (const path of new Set(Array.from({ length: topicCount }, () => randomPath(random)))) {
    const type: TopicType = random.pick(['json', 'string'])
    const properties = random.oneIn(3) ? random.pick(someProperties) : {}
    const value = random.oneIn(4) ? undefined : JSON.stringify(`${path} ${'x'.repeat(random.below(30))}`)
    const made = creation(path, type, properties)
    writes.push(value === undefined ? single.add(store, made) : single.addAndSet(store, made, Buffer.from(value)))
    const kept = properties.DONT_RETAIN_VALUE === undefined ? value : undefined
    topics.set(path, { type, properties, value: kept, version: undefined })
  }
  await Promise.all(writes)
  for (const [path, topic] of topics) topic.version = await versionShown(store, path)
  return topics
}

/** The parameters of a fetch except its selector, page size and start. */
function randomMembers(random: Random): Members {
  const limits = {
    deep_branch_depth: random.pick([1, 1, 1, 2, 2, 3, 4, 5]),
    deep_branch_limit: random.pick([0, 1, 1, 2, 3, 5, 101, 2 ** 32 - 1]),
  }
  return {
    type: random.pick(['json', 'string', 'any']),
    with_values: random.oneIn(2),
    with_properties: random.oneIn(2),
    with_version: random.oneIn(2),
    ...(random.oneIn(4) ? {} : { ...limits, ...(random.oneIn(20) ? { deep_branch_depth: 2 ** 32 - 1 } : {}) }),
  }
}

function formOf(members: Members): ItemForm {
  const { type = 'json', with_values = true, with_properties = false, with_version = false } = members
  return { type, values: with_values, properties: with_properties, versions: with_version }
}

/** The items of a page, and whether more follow. */
function expectedPage(items: readonly string[], size: number, bytesMax: number): { text: string; hasMore: boolean } {
  let count = 0
  let bytes = -1
  for (const item of items) {
    bytes += Buffer.byteLength(item) + 1
    if (count === size || (count > 0 && bytes > bytesMax)) break
    count++
  }
  return { text: items.slice(0, count).join(','), hasMore: count < items.length }
}

interface Walk {
  readonly plan: Plan
  readonly members: Members
  readonly items: readonly string[]
}

/** Walks to the end in pages of random sizes; returns the number of pages, or the first difference. */
async function walk(store: TopicStore, { plan, members, items }: Walk, random: Random): Promise<number | object> {
  const { deep_branch_depth: depth, deep_branch_limit: limit } = members
  const branches = depth === undefined || limit === undefined ? undefined : { depth, limit }
  let left = items
  let after = members.after as Path | undefined
  for (let pages = 1; ; pages++) {
    const size = random.oneIn(4) ? 1 + random.below(200) : 1 + random.below(4)
    const bytesMax = random.oneIn(4) ? 1 + random.below(1000) : 2 ** 30
    const query = { plan, form: formOf(members), branches, after, size, bytesMax }
    const { buffer, start, end, hasMore } = await store.readPage(query, waiting)
    const found = { text: buffer.subarray(start, end).toString(), hasMore }
    const wanted = expectedPage(left, size, bytesMax)
    if (found.text !== wanted.text || hasMore !== wanted.hasMore) return { found, wanted, after, size, bytesMax }
    if (!hasMore) return pages
    const count = (JSON.parse(`[${found.text}]`) as unknown[]).length
    after = (JSON.parse(left[count - 1] as string) as { path: Path }).path
    left = left.slice(count)
  }
}

/** Up to four subtrees; half of the time all are below one topmost segment, in one branch. */
function randomSubtrees(paths: readonly string[], random: Random): Path[] {
  const [start] = random.pick(paths).split('/')
  const near = random.oneIn(2) ? paths.filter((path) => path.startsWith(`${start}/`)) : paths
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(near.length === 0 ? paths : near) as Path)
}

async function randomWalks(t: Test, store: TopicStore): Promise<void> {
  const random = seededRandom(t)
  const topics = await plant(store, random)
  const paths = [...topics.keys()]
  const sum = { items: 0, pages: 0, restricted: 0 }
  for (let i = 0; i < walks; i++) {
    const text = random.oneIn(2) ? '?.*//' : randomSelector(random)
    const matches = matcherOf(text)
    const after = random.oneIn(2) ? random.pick([...paths, randomPath(random)]) : undefined
    const members = { ...randomMembers(random), ...(after === undefined ? {} : { after }) }
    const under = random.oneIn(2) ? randomSubtrees(paths, random) : []
    const isAllowed = (path: string): boolean =>
      under.length === 0 || under.some((root) => path === root || path.startsWith(`${root}/`))
    const access = accessOf({ name: '', tokenHash: '', allow: ['fetch'], under, madeMs: 0 }, undefined, { requests: 0 })
    const slow = random.oneIn(10)
      ? watched(planned(text), () => random.oneIn(20) && spin(1.1 * sliceMs))
      : planned(text)
    const items = itemsOf(topics, (path) => isAllowed(path) && matches(path), members)
    const result = await walk(store, { plan: restrict(access, slow), members, items }, random)
    if (typeof result === 'object') return void t.fail(`${i}: ${text} under ${under}`, { members, ...result })
    sum.items += items.length
    sum.pages += result
    sum.restricted += under.length === 0 ? 0 : 1
  }
  t.comment(JSON.stringify(sum))
  t.ok(sum.items > 1000 && sum.pages > 200 && sum.restricted > 50, 'the walks had many items and pages')
}

async function singleTopics(t: Test, store: TopicStore): Promise<void> {
  const random = seededRandom(t)
  const topics = await plant(store, random)
  for (let i = 0; i < 200; i++) {
    const path = random.oneIn(10) ? randomPath(random) : random.pick([...topics.keys()])
    const { deep_branch_depth: _, deep_branch_limit: __, ...plain } = randomMembers(random)
    const found = await store.readTopic(path as Path, formOf(plain))
    const topic = topics.get(path)
    const [item] = itemsOf(topics, (other) => other === path, plain)
    const wanted = item ?? (topic === undefined ? 'no_such_topic' : 'incompatible_type')
    const text = typeof found === 'string' ? found : Buffer.from(found).toString()
    if (text !== wanted) return void t.equal(text, wanted, JSON.stringify(plain))
  }
  t.pass('200 fetches')
}

async function manyRanges(t: Test, store: TopicStore): Promise<void> {
  const paths = ['ab', 'cd', 'ef'].flatMap((start) => Array.from({ length: 60 }, (_, i) => `${start}${i}/x`))
  await load(store, paths)
  const plan = planned(`#${Array.from({ length: 60 }, (_, i) => `?[a-f][a-f]${i}/x`).join('////')}`)
  t.ok(plan.ranges.length > 1000, `${plan.ranges.length} ranges`)
  for (const matcher of [undefined, () => true]) {
    const { items, hasMore } = await readItems(store, { plan: { ...plan, matcher } })
    t.strictSame([items.map(({ path }) => path), hasMore], [[...paths].sort(treeOrder), false])
  }
}

/** Branches with more topics than one statement reads of each. */
async function largeBranches(t: Test, store: TopicStore): Promise<void> {
  const random = seededRandom(t)
  const topics = new Map<string, Topic>()
  const empty: Topic = { type: 'json', properties: {}, value: undefined, version: undefined }
  for (const root of ['a', 'b', 'c/d']) {
    for (let i = 0; i < 150; i++) topics.set(`${root}/${i}`, empty)
  }
  await Promise.all([...topics.keys()].map((path) => single.add(store, creation(path))))
  for (const limit of [99, 100, 101, 149, 150, 151]) {
    for (const after of [undefined, 'b/3']) {
      const members = { deep_branch_depth: 1, deep_branch_limit: limit, ...(after === undefined ? {} : { after }) }
      const items = itemsOf(topics, () => true, members)
      const result = await walk(store, { plan: planned('?.*//'), members, items }, random)
      t.type(result, 'number', `a limit of ${limit} after ${after}: ${JSON.stringify(result)}`)
    }
  }
}

await eachStore(t, async (t, address) => {
  const store = await openStore(address, { directory: join(t.testdir(), 'db') })
  t.teardown(() => store.close())
  await t.test(`${walks} random walks, page by page, return the same items as a Map`, (t) => randomWalks(t, store))
  await store.removeMatches(planned('*.*'), waiting)
  await t.test('a set of 1,000 ranges finds all its topics in order', (t) => manyRanges(t, store))
  await store.removeMatches(planned('*.*'), waiting)
  await t.test('branches of 150 topics return the same items as a Map', (t) => largeBranches(t, store))
  await store.removeMatches(planned('*.*'), waiting)
  await t.test('a fetch of one topic, in every form, returns the same item as a Map', (t) => singleTopics(t, store))
})
