/**
 * The number of keys that a scan of a real store visits per item returned. Subtrees that cannot match are skipped, and so is the rest of a
 * branch whose limit is reached, from the first page to the last.
 */
import { join } from 'node:path'
import t from 'tap'
import { Reads } from '../../dist/store/core/read/reads.js'
import { openEnvironment } from '../../dist/store/lmdb/environment/environment.js'
import { createEngine } from '../../dist/store/lmdb/view/engine.js'
import { createItemRanges } from '../../dist/store/lmdb/view/item-ranges.js'
import { createSnapshots } from '../../dist/store/lmdb/view/read-freshness.js'
import { LmdbView } from '../../dist/store/lmdb/view/view.js'
import type { BranchLimit } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import { load, makeDirectory, openStore, planned, readItems, waiting, watched } from '../support/stores/store.js'

const groups = 1000
const membersPerGroup = 40

t.test('a page of a split-path pattern visits fewer than 5 keys per item', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  const groupPaths = (group: string): string[] => {
    const members = Array.from({ length: membersPerGroup }, (_, i) => `${group}/${['hum', 'wind'][i % 2]}/${i}`)
    return [...members, `${group}/temp`, `${group}/temp/max`, `${group}/z`]
  }
  const paths = Array.from({ length: groups }, (_, i) => groupPaths(`a/x${i}`)).flat()
  await load(store, [...paths, 'a', 'b/x/temp', 'a/temp', ...groupPaths('a/x/x')])

  const cases = [
    { selector: '?a/.*/temp', items: groups },
    { selector: '?a/x1..?/temp', items: 110 },
    { selector: '?a/.*/temp/m.*', items: groups },
    { selector: '#?a/.*/temp////?b/.*/temp', items: groups + 1 },
  ]
  for (const { selector, items: count } of cases) {
    for (const size of [10, 1000]) {
      const paged = { items: 0, visits: 0, pages: 0 }
      const plan = watched(planned(selector), () => paged.visits++)
      for (let after: string | undefined; ; ) {
        const { items, hasMore } = await readItems(store, { plan, after, size })
        paged.items += items.length
        paged.pages++
        if (!hasMore) break
        after = items.at(-1)?.path
      }
      const each = (paged.visits / paged.items).toFixed(2)
      t.equal(paged.items, count, `${selector} in pages of ${size}`)
      t.ok(paged.visits < 5 * paged.items, `${each} keys per item, in ${paged.pages} pages of ${paths.length} topics`)
    }
  }
})

const children = 1000
/** `TOPICS_PER_CHILD=1000` in the environment makes the tree ten times as large, which takes half a minute. */
const topicsPerChild = Number(process.env.TOPICS_PER_CHILD ?? 100)

t.test('a listing of children visits fewer than 4 keys per result', async (t) => {
  const directory = join(t.testdir(), 'db')
  const name = (n: number): string => String(n).padStart(3, '0')
  const childPaths = Array.from({ length: children }, (_, i) => `a/${name(i)}`)
  const below = (child: string): string[] => Array.from({ length: topicsPerChild }, (_, i) => `${child}/${name(i)}`)
  await makeDirectory(directory, childPaths.flatMap(below))
  const environment = openEnvironment(directory)
  t.teardown(() => environment.root.close())
  const view = new LmdbView(environment, createItemRanges(environment))
  const snapshots = createSnapshots(environment.freshen, () => 0)
  const { readPage } = new Reads(createEngine(environment, view, snapshots, () => () => {}))

  let visits = 0
  for (const tree of [environment.items.json, environment.specifications]) {
    const getKeys = tree.getKeys.bind(tree)
    tree.getKeys = (options) =>
      getKeys(options).map((key) => {
        visits++
        return key
      }) as ReturnType<typeof getKeys>
  }

  /** Walks to the end in pages of `size`; returns the number of results and the keys visited per result. */
  async function walk(
    type: 'json' | 'any',
    branches: BranchLimit | undefined,
    size: number,
  ): Promise<[number, number]> {
    const form = { type, values: false, properties: false, versions: false } as const
    const plan = planned('?a//')
    visits = 0
    let results = 0
    for (let after: Path | undefined; ; ) {
      const page = await readPage({ plan, form, branches, after, size, bytesMax: 2 ** 30 }, waiting)
      const items = JSON.parse(`[${page.buffer.subarray(page.start, page.end).toString()}]`) as { path: Path }[]
      results += items.length
      if (!page.hasMore) return [results, visits / results]
      after = items.at(-1)?.path
    }
  }

  for (const type of ['json', 'any'] as const) {
    for (const size of [10, 1000]) {
      const [results, each] = await walk(type, { depth: 2, limit: 1 }, size)
      t.equal(results, children, `${type} in pages of ${size}`)
      t.ok(each < 4, `${each.toFixed(2)} keys per result`)
    }
  }
})
