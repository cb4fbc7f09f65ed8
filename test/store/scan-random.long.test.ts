/**
 * Random selectors over random trees in a real store, read page by page, against a naive reference. Page sizes, byte
 * limits and `after` are random, topics of the other type lie in between, and slices end anywhere, even after a seek.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { sliceMs } from '../../dist/base/time-slices.js'
import type { Matcher, Plan } from '../../dist/selectors/plan.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { TopicType } from '../../dist/topics/topic.js'
import { matcherOf, treeOrder } from '../support/models/model.js'
import { randomPath, randomSelector } from '../support/models/selectors.js'
import { type Random, seededRandom } from '../support/random.js'
import { load, openStore, planned, readItems, spin, watched } from '../support/stores/store.js'

const types: readonly TopicType[] = ['json', 'string']

/** A tree of both types: each path has one of them. */
async function plant(t: Test, random: Random): Promise<{ store: TopicStore; paths: Record<TopicType, string[]> }> {
  const store = openStore(t, join(t.testdir(), 'db'))
  const all = [...new Set(Array.from({ length: 700 }, () => randomPath(random)))]
  const paths: Record<TopicType, string[]> = { json: [], string: [] }
  for (const path of all) paths[random.pick(types)].push(path)
  for (const type of types) {
    await load(store, paths[type], type)
    paths[type].sort(treeOrder)
  }
  return { store, paths }
}

/** What a walk found, and what that took. */
interface Walk {
  readonly found: string[]
  visits: number
  seeks: number
  pages: number
}

/** Walks a plan to its end from `after` on, in pages of random sizes, now and then slowly. */
async function walk(store: TopicStore, plan: Plan, type: TopicType, random: Random, after?: string): Promise<Walk> {
  const walked: Walk = { found: [], visits: 0, seeks: 0, pages: 0 }
  const slowly = random.oneIn(8)
  const seen = watched(plan, () => {
    walked.visits++
    if (slowly && random.oneIn(20)) spin(1.1 * sliceMs)
  })
  const matcher: Matcher = (path, slice) => {
    const verdict = seen.matcher?.(path, slice) ?? true
    if (typeof verdict === 'object') walked.seeks++
    return verdict
  }
  // A plan without a matcher is read in its own way, which a watcher would prevent: half of them go without one.
  const watchedPlan = plan.matcher === undefined && random.oneIn(2) ? plan : { ranges: plan.ranges, matcher }
  for (let last = after; ; walked.pages++) {
    const size = 1 + random.below(random.oneIn(4) ? 200 : 4)
    const bytesMax = random.oneIn(4) ? 1 + random.below(2000) : 2 ** 30
    const { items, hasMore } = await readItems(store, { plan: watchedPlan, type, after: last, size, bytesMax })
    for (const item of items) {
      if (item.value !== item.path || item.type !== type) throw new Error(`a wrong item for ${item.path}`)
      walked.found.push(item.path)
    }
    if (items.length > size) throw new Error(`a page of ${size} has ${items.length} items`)
    if (!hasMore) return walked
    last = items.at(-1)?.path
    if (last === undefined) throw new Error('a page with has_more is empty')
  }
}

t.test('random selectors, page by page, find every match of a naive matcher once, in tree order', async (t) => {
  const random = seededRandom(t)
  const sum = { matches: 0, visits: 0, seeks: 0, pages: 0 }
  for (let round = 0; round < 6; round++) {
    await t.test(`tree ${round + 1}`, async (t) => {
      const { store, paths } = await plant(t, random)
      for (let i = 0; i < 120; i++) {
        const text = randomSelector(random)
        const matches = matcherOf(text)
        const type = random.pick(types)
        const after = random.oneIn(3) ? random.pick([...paths.json, ...paths.string, randomPath(random)]) : undefined
        const { found, visits, seeks, pages } = await walk(store, planned(text), type, random, after)
        const wanted = paths[type].filter(
          (path) => matches(path) && (after === undefined || treeOrder(path, after) > 0),
        )
        sum.matches += found.length
        sum.visits += visits
        sum.seeks += seeks
        sum.pages += pages
        if (found.join('\0') === wanted.join('\0')) continue
        return void t.strictSame(found, wanted, `${JSON.stringify(text)} after ${after}`)
      }
      t.pass('120 selectors')
    })
  }
  t.comment(JSON.stringify(sum))
  t.ok(sum.matches > 1000 && sum.seeks > 500 && sum.pages > 500, 'the walks had many matches, seeks and pages')
})

t.test('a set of over a thousand ranges finds all of its topics, in order', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  const paths = ['ab', 'cd', 'ef'].flatMap((start) => Array.from({ length: 60 }, (_, i) => `${start}${i}/x`))
  await load(store, paths)
  const members = Array.from({ length: 60 }, (_, i) => `?[a-f][a-f]${i}/x`)
  const plan = planned(`#${members.join('////')}`)
  t.ok(plan.ranges.length > 1000, `${plan.ranges.length} ranges`)
  for (const matcher of [undefined, () => true]) {
    const { items, hasMore } = await readItems(store, { plan: { ...plan, matcher } })
    t.strictSame([items.map(({ path }) => path), hasMore], [[...paths].sort(treeOrder), false])
  }
})
