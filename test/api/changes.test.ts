/** POST /topics/changes: pages after a token, the initial state first, and responses that wait for a change. */
import t from 'tap'
import { tokenBytesMax } from '../../dist/changes/token.js'
import { pathBytesMax } from '../../dist/settings/limits.js'
import { refuses } from '../support/expected-answers.js'
import { catchUp, changesPage } from '../support/service/changes.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, server) => {
  const { post, client, addKey } = server
  await post('remove', { selector: '*.*' })
  const set = async (path: string, value: unknown, type?: string): Promise<void> => {
    const { status, text } = await post('addAndSet', { path, value, type })
    if (status !== 200) throw new Error(text)
  }
  const page = (body: object, token?: string) => changesPage(client, body, token)
  for (const [path, value] of Object.entries({ a: 1, 'a/b': 2, 'a/b/c': 3, b: 4, 'b/a': 5 })) await set(path, value)

  await t.test('a request without `since` gets the state in tree order, and later requests get changes', async (t) => {
    const first = await page({ selector: '*a//' })
    t.strictSame(first.results, [
      { path: 'a', type: 'json', value: 1 },
      { path: 'a/b', type: 'json', value: 2 },
      { path: 'a/b/c', type: 'json', value: 3 },
    ])
    t.equal(first.has_more, false, 'a state of one page is complete')
    await set('a/b', 20)
    await set('b', 40)
    await post('remove', { path: 'a/b/c' })
    const second = await page({ selector: '*a//', since: first.next })
    t.strictSame(
      [...second.results].sort((x, y) => (x.path < y.path ? -1 : 1)),
      [
        { path: 'a/b', type: 'json', value: 20 },
        { path: 'a/b/c', removed: true },
      ],
    )
    t.equal(second.has_more, false)
    const third = await page({ selector: '*a//', since: second.next })
    t.strictSame(third, { has_more: false, results: [], next: third.next }, 'nothing has changed since')
    t.match(
      (await page({ selector: '*b//', since: first.next })).results,
      [{ path: 'b', value: 40 }],
      'another selector',
    )
  })

  await t.test('a walk resumes at its token, and changes to topics already returned are on a later page', async (t) => {
    for (let i = 0; i < 7; i++) await set(`walk/${i}`, i)
    const first = await page({ selector: '?walk/', size: 3 })
    t.strictSame([first.has_more, first.results.map(({ path }) => path)], [true, ['walk/0', 'walk/1', 'walk/2']])
    await set('walk/0', 'changed')
    await post('remove', { path: 'walk/6' })
    const second = await page({ selector: '?walk/', size: 3, since: first.next })
    t.strictSame(
      second.results.map(({ path }) => path),
      ['walk/3', 'walk/4', 'walk/5'],
    )
    const third = await page({ selector: '?walk/', size: 3, since: second.next })
    t.strictSame([third.has_more, third.results], [false, third.results])
    t.strictSame(third.results.find(({ path }) => path === 'walk/0')?.value, 'changed')
    refuses(t, await post('changes', { selector: '?walk//', since: first.next }), 400, 'invalid_parameter', 'since')
    const other = { selector: '?walk/', type: 'any', since: first.next }
    refuses(t, await post('changes', other), 400, 'invalid_parameter', 'since')
    const fold = await catchUp(client, { selector: '?walk/', size: 2 })
    t.strictSame([...fold.topics.keys()].sort(), ['walk/0', 'walk/1', 'walk/2', 'walk/3', 'walk/4', 'walk/5'])
  })

  await t.test('a page contains each topic once and at most `size` topics', async (t) => {
    const { next } = await page({ selector: '?many/', since: 'now' })
    for (let i = 0; i < 5; i++) for (const value of [1, 2]) await set(`many/${i}`, value)
    const first = await page({ selector: '?many/', size: 4, since: next })
    t.strictSame([first.has_more, first.results.length], [true, 4])
    const paths = new Set(first.results.map(({ path }) => path))
    // PostgreSQL's log groups changes by session, so a later page may repeat a topic.
    for (let last = first; last.has_more; ) {
      last = await page({ selector: '?many/', size: 4, since: last.next })
      const shown = new Set(last.results.map(({ path }) => path))
      t.ok(shown.size === last.results.length && shown.size <= 4, 'each topic once')
      for (const path of shown) paths.add(path)
    }
    t.equal(paths.size, 5)
    t.strictSame((await page({ selector: '?many/', size: 5, since: next })).has_more, false, 'the last page is full')
  })

  await t.test('results have the requested form and equal those of a fetch byte for byte', async (t) => {
    await post('addAndSet', { path: 'form/j', value: '1.50', properties: { TIDY_ON_UNSUBSCRIBE: 'true' } })
    await post('addAndSet', '{"path":"form/n","value":1.50}')
    await set('form/s', 'text', 'string')
    for (const form of [
      {},
      { type: 'string' },
      { type: 'any' },
      { with_values: false },
      { type: 'any', with_properties: true, with_version: true },
    ]) {
      const fetched = await post('fetch', { selector: '?form/', ...form })
      const state = await post('changes', { selector: '?form/', ...form })
      const results = /"results":\[(.*)\]/.exec(fetched.text)?.[1] ?? ''
      t.ok(state.text.includes(`"results":[${results}]`), JSON.stringify(form))
    }
    const { next } = await page({ selector: '?form/', since: 'now' })
    await post('set', '{"path":"form/n","value":2.50}')
    await post('remove', { path: 'form/j' })
    await post('addAndSet', { path: 'form/j', type: 'string', value: 'now a string' })
    const json = await post('changes', { selector: '?form/', since: next })
    t.match(json.text, '{"path":"form/n","type":"json","value":2.50}')
    t.match(json.text, '{"path":"form/j","removed":true}', 'the topic now has another type')
    const any = await post('changes', { selector: '?form/', type: 'any', with_values: false, since: next })
    t.match(any.text, '{"path":"form/j","type":"string"}')
  })

  await t.test('a poll returns at the first change, or returns an empty page when its time is up', async (t) => {
    const { next } = await page({ path: 'a', since: 'now' })
    const waiting = page({ path: 'a', since: next, wait: 50 })
    await set('b', 'not of interest')
    await set('a', 'of interest')
    t.strictSame((await waiting).results, [{ path: 'a', type: 'json', value: 'of interest' }])
    t.strictSame((await page({ path: 'a', since: next, wait: 50 })).results.length, 1, 'an immediate response')
    const empty = await page({ path: 'a', since: 'now', wait: 1 })
    t.strictSame([empty.has_more, empty.results], [false, []])
    await set('a', 'later')
    t.strictSame((await page({ path: 'a', since: empty.next })).results.length, 1)
    const removal = page({ selector: '?a/', since: empty.next, wait: 50, size: 1 })
    await post('remove', { selector: '?a/' })
    t.match((await removal).results, [{ removed: true }])
  })

  await t.test('every poll that waits for a topic returns the change to the topic', async (t) => {
    const { next } = await page({ selector: '*all//', since: 'now' })
    const polls = Array.from({ length: client.connections - 1 }, () =>
      page({ selector: '*all//', since: next, wait: 50 }),
    )
    await set('all/1', 1)
    for (const { results } of await Promise.all(polls))
      t.strictSame(results, [{ path: 'all/1', type: 'json', value: 1 }])
  })

  await t.test('a key sees only changes in its subtrees', async (t) => {
    const token = await addKey('limited', { under: ['own'], allow: ['fetch'] })
    const first = await page({ selector: '*.*' }, token)
    t.strictSame(first.results, [])
    await set('own/1', 1)
    await set('others', 1)
    t.match((await page({ selector: '*.*', since: first.next }, token)).results, [{ path: 'own/1' }])
    refuses(t, await post('changes', { path: 'others' }, { token }), 403, 'forbidden_path', 'subtrees')
    const writer = await addKey('writer', { allow: ['set', 'add'] })
    refuses(t, await post('changes', { path: 'a' }, { token: writer }), 403, 'forbidden_operation', 'fetch')
    const walk = await page({ selector: '*.*', size: 1 })
    refuses(
      t,
      await post('changes', { selector: '*.*', since: walk.next }, { token }),
      400,
      'invalid_parameter',
      'since',
    )
  })

  await t.test('a malformed token is answered with 400, and a token of another store with 410', async (t) => {
    const { next } = await page({ path: 'a' })
    for (const since of [
      '',
      'a',
      next.slice(0, -1),
      `${next}A`,
      next.replace(/^./, 'B'),
      'x'.repeat(tokenBytesMax + 1),
    ])
      refuses(t, await post('changes', { path: 'a', since }), 400, 'invalid_parameter', 'since')
    refuses(t, await post('changes', { path: 'a', since: 1 }), 400, 'invalid_parameter', 'since')
    // A place of neither engine, with a valid checksum.
    refuses(t, await post('changes', { path: 'a', since: 'AQAA_oOzJQ' }), 410, 'since_gone', 'since')
    for (const wait of [-1, 51, 1.5, '1'])
      refuses(t, await post('changes', { path: 'a', wait }), 400, 'invalid_parameter', 'wait')
    refuses(t, await post('changes', { path: 'a', selector: '*a//' }), 400, 'path_or_selector', 'selector')
    refuses(t, await post('changes', {}), 400, 'path_or_selector', 'selector')
    refuses(t, await post('changes', { path: 'a', after: 'b' }), 400, 'unknown_parameter', 'after')
  })

  await t.test('the token of a walk that stopped at a path of maximum length is accepted', async (t) => {
    const longest = `long/${'x'.repeat(pathBytesMax - 5)}`
    await set(longest, 1)
    await set('long/y', 1)
    const first = await page({ selector: '?long/', size: 1 })
    t.strictSame(first.results, [{ path: longest, type: 'json', value: 1 }])
    t.ok(first.next.length <= tokenBytesMax)
    t.match((await page({ selector: '?long/', size: 1, since: first.next })).results, [{ path: 'long/y' }])
  })

  await t.test('changes to paths with any characters and many segments are returned', async (t) => {
    const paths = ['π/☃/𝒳', 'a b', 'a\u0001', 'x/'.repeat(500).slice(0, -1)]
    const { next } = await page({ selector: '*.*', since: 'now' })
    for (const path of paths) await set(path, path)
    const { results } = await page({ selector: '*.*', since: next })
    t.strictSame(results.map(({ path }) => path).sort(), [...paths].sort())
    for (const { path, value } of results) t.equal(value, path)
  })
})
