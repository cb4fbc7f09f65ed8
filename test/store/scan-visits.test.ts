/**
 * How many keys a scan of a real store visits per item that it returns: subtrees that cannot match are skipped, from
 * the first page to the last.
 */
import { join } from 'node:path'
import t from 'tap'
import { load, openStore, planned, readItems, watched } from '../support/store.js'

const groups = 1000
const membersPerGroup = 40

t.test('a page of a split-path pattern visits fewer than 5 keys per item that it returns', async (t) => {
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

  await t.test('the count detects a scan that skips nothing: it visits more than 5 keys per item', async (t) => {
    const { ranges, matcher } = planned('?a/.*/temp')
    let visits = 0
    const plan = watched({ ranges, matcher: (path) => matcher?.(path) === true }, () => visits++)
    const { items } = await readItems(store, { plan })
    t.equal(items.length, groups)
    t.ok(visits > 5 * groups, `${visits} keys`)
  })
})
