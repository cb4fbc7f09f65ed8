/**
 * A fetch that only counts: how many topics of a type a selector matches, within the key's subtrees, whatever the size
 * of the tree.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { handleFetch } from '../../dist/api/fetch.js'
import { accessOf } from '../../dist/auth/access.js'
import { Cancelled } from '../../dist/base/cancellation.js'
import { gives, refuses } from '../support/expected-answers.js'
import { seededRandom } from '../support/random.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'
import { leastContext, load, openStore } from '../support/stores/store.js'

await overStores(t, async (t, server) => {
  const { post, addKey } = server
  await post('remove', { selector: '*.*' })
  for (const path of ['a', 'a/b', 'a/b/c', 'a-b', 'b/a']) await post('addAndSet', { path, value: 1 })
  await post('addAndSet', { path: 'a/s', type: 'string', value: 'x' })
  await post('add', { path: 'a/e' })

  await t.test('a count is of one type, json by default, or of both', async (t) => {
    for (const [selector, json, string] of [
      ['*a//', 4, 1],
      ['?a/', 3, 1],
      ['>a/s', 0, 1],
      ['#>a////>b/a', 2, 0],
      ['*none//', 0, 0],
      ['*.*', 6, 1],
    ] as const) {
      const count = (type?: string) => post('fetch', { selector, type, count: true })
      gives(t, await count(), `{"count":${json}}`, selector)
      gives(t, await count('json'), `{"count":${json}}`, `${selector}, json`)
      gives(t, await count('string'), `{"count":${string}}`, `${selector}, string`)
      gives(t, await count('any'), `{"count":${json + string}}`, `${selector}, any`)
    }
  })

  await t.test('false is as if absent', async (t) => {
    const page = await post('fetch', { selector: '?a/', size: 2 })
    gives(t, await post('fetch', { selector: '?a/', size: 2, count: false }), page.text, 'a page')
    gives(t, await post('fetch', { path: 'a', count: false }), '{"path":"a","type":"json","value":1}', 'a topic')
  })

  await t.test('a count with a path, or with what only a page has, is refused by name', async (t) => {
    refuses(t, await post('fetch', { path: 'a', count: true }), 400, 'invalid_parameter', 'path', '"count"')
    for (const [name, value] of [
      ['size', 10],
      ['after', 'a'],
      ['deep_branch_depth', 1],
      ['deep_branch_limit', 1],
      ['with_values', true],
      ['with_properties', false],
      ['with_version', true],
    ] as const) {
      const answer = await post('fetch', { selector: '*a//', count: true, [name]: value })
      refuses(t, answer, 400, 'invalid_parameter', name, `"${name}" is given with "count"`)
    }
    for (const found of [0, 1, 'true', null, [], {}]) {
      const answer = await post('fetch', { selector: '*a//', count: found })
      refuses(t, answer, 400, 'invalid_parameter', JSON.stringify(found), '"count"', 'true or false')
    }
    const both = await post('fetch', { path: 'a', selector: '*a//', count: true })
    refuses(t, both, 400, 'path_or_selector', 'with both')
    refuses(t, await post('fetch', { count: true }), 400, 'path_or_selector', 'with neither')
    refuses(t, await post('fetch', { selector: '%', count: true }), 400, 'invalid_selector', 'an invalid selector')
    refuses(t, await post('remove', { selector: '*a//', count: true }), 400, 'unknown_parameter', 'remove', '"count"')
  })

  await t.test('a count needs the right to fetch alone, and is of what the key may touch', async (t) => {
    const [writer, restricted] = await Promise.all([
      addKey('no-fetches', { allow: ['set', 'add', 'remove'] }),
      addKey('fetch-below-a-b', { allow: ['fetch'], under: ['a/b', 'b'] }),
    ])
    const refused = await post('fetch', { selector: '*a//', count: true }, { token: writer })
    refuses(t, refused, 403, 'forbidden_operation', 'without it', 'may not fetch')
    for (const [selector, count] of [
      ['*.*', 3],
      ['*a//', 2],
      ['*a-b', 0],
    ] as const) {
      const answer = await post('fetch', { selector, type: 'any', count: true }, { token: restricted })
      gives(t, answer, `{"count":${count}}`, selector)
    }
  })

  await t.test('in a random tree the count is the number of results of a page', (t) => randomTree(t, server))
})

async function randomTree(t: Test, { post }: Server): Promise<void> {
  const random = seededRandom(t)
  const names = ['a', 'b', 'c', 'ab', 'é', 'a-b']
  const selectors = ['*a//', '?a/', '*.*b', '?.*/a//', '>a/b', '#>a////*b//', '*[ab].*', '?.*/.*', '?.*/é/', '*.*']
  const operations = Array.from({ length: 400 }, () => {
    const path = Array.from({ length: 1 + random.below(4) }, () => random.pick(names)).join('/')
    return { op: random.oneIn(5) ? 'remove' : 'add', path, type: random.pick(['json', 'string']) }
  }).map(({ op, path, type }) => (op === 'remove' ? { op, path } : { op, path, type }))
  t.equal((await post('batch', { operations })).status, 200)
  let counted = 0
  for (const selector of selectors) {
    for (const type of ['json', 'string', 'any']) {
      const page = JSON.parse((await post('fetch', { selector, type, size: 1000 })).text) as { results: unknown[] }
      const expectation = `${selector}, ${type}`
      gives(t, await post('fetch', { selector, type, count: true }), `{"count":${page.results.length}}`, expectation)
      counted += page.results.length
    }
  }
  t.ok(counted > 100, `${counted} topics were counted`)
}

await t.test('a count of many slices is whole, and is given up once its client has gone', async (t) => {
  const store = openStore(t, join(t.testdir(), 'db'))
  // More than one slice of about a millisecond can visit.
  const topics = 20_000
  await load(
    store,
    Array.from({ length: topics }, (_, i) => `c/${i}`),
  )
  const context = leastContext(store)
  const record = { name: 'all', tokenHash: '', allow: ['fetch'], under: [], madeMs: 0 } as const
  const access = accessOf(record, undefined, { requests: 0 })
  const body = Buffer.from('{"selector":"*c/.*[0-9]","count":true}')
  let looks = 0
  const watched = {
    get aborted(): boolean {
      return ++looks < 0
    },
  }
  const expected = { status: 200, body: `{"count":${topics}}` }
  t.match(await handleFetch(context, body, access, watched), expected)
  t.ok(looks > 1, `${looks} slices`)
  let looksLeft = 2
  const leaving = {
    get aborted(): boolean {
      return --looksLeft < 1
    },
  }
  const left = await Promise.resolve(handleFetch(context, body, access, leaving)).then(
    () => false,
    (reason: unknown) => reason instanceof Cancelled,
  )
  t.ok(left, 'its client goes after the first slice')
})
