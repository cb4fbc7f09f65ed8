/** The client with the real service: its requests are accepted, and its results are the stored topics. */
import { inspect } from 'node:util'
import t from 'tap'
import { anyOf, connect, descendants, jsonText, subtree, topic } from '../../dist/client/index.js'
import { everythingOf } from '../support/elements.js'
import { startServer } from '../support/service/server.js'

const server = await startServer(t, { workers: 2, flags: ['--base-path', '/base/x'] })
const topics = connect(server.url, { key: server.token })

t.test('a value is returned both parsed and as the text that was sent', async (t) => {
  t.strictSame(await topics.addAndSet('exact', { b: 1.1, a: [null, 'é😀'] }), { path: 'exact', created: true })
  const item = await topics.get('/exact/')
  t.strictSame([item?.path, item?.type, item?.text], ['exact', 'json', '{"b":1.1,"a":[null,"é😀"]}'])
  t.strictSame(item?.value, { b: 1.1, a: [null, 'é😀'] })
  t.match(inspect(item), "value: { b: 1.1, a: [ null, 'é😀' ] }", 'console.log shows the value')
  t.strictSame({ ...item }, structuredClone(item), 'a copy is a plain object')
  t.equal(JSON.stringify(item), '{"path":"exact","type":"json","value":{"b":1.1,"a":[null,"é😀"]}}')

  const versioned = JSON.parse(JSON.stringify(await topics.get('exact', { with_version: true })))
  t.match(versioned, { version: Number, updated: /^\d{4}-.*Z$/ }, 'JSON includes the requested members')

  const text = '{ "b":1.10,"a":[1e400,-0,12345678901234567890],"b":"\\u0061" }'
  t.strictSame(await topics.set('exact', jsonText(text)), { path: 'exact' })
  t.equal((await topics.get('exact'))?.text, text)
  t.strictSame(await topics.addAndSet('exact', jsonText('1.10')), { path: 'exact', created: false })
  t.equal((await topics.get('exact'))?.text, '1.10')
  t.strictSame(await topics.remove('exact'), { removed: 1 })
  t.strictSame(await topics.remove('exact'), { removed: 0 })
})

t.test('getMany() returns topics in the order of the given paths, and undefined for missing topics', async (t) => {
  await topics.addAndSet('many/a', jsonText('1.0'))
  await topics.addAndSet('many/b', 'b', { type: 'string' })
  const items = await topics.getMany(['many/b', 'many/no', '/many/a/'], { type: 'any', with_version: true })
  t.strictSame(
    items.map((item) => [item?.path, item?.text, typeof item?.version]),
    [
      ['many/b', '"b"', 'number'],
      [undefined, undefined, 'undefined'],
      ['many/a', '1.0', 'number'],
    ],
  )
  t.strictSame(await topics.getMany([]), [])
  const big = Array.from({ length: 12 }, (_, i) => `many/big/${i}`)
  for (const path of big) await topics.addAndSet(path, 'x'.repeat(900_000))
  const found = await topics.getMany(big)
  t.strictSame(
    found.map((item) => item?.path),
    big,
    'more than fits on a page',
  )
  await t.rejects(topics.getMany(['a', 'a//b']), { code: 'invalid_path' })
  await topics.removeMatches(subtree('many'))
})

t.test('get() returns topics without a value, topics with a string, and undefined for a missing topic', async (t) => {
  t.equal(await topics.get('none'), undefined)
  t.strictSame(await topics.add('empty', { properties: { DONT_RETAIN_VALUE: 'false' } }), {
    path: 'empty',
    created: true,
  })
  const empty = await topics.get('empty')
  t.strictSame([empty?.text, empty?.value], [undefined, undefined])
  await topics.addAndSet('words', 'a "b"', { type: 'string' })
  t.strictSame((await topics.get('words', { type: 'string' }))?.value, 'a "b"')
  t.strictSame(
    await Promise.all([topics.get('words'), topics.getMany(['words'])]),
    [undefined, [undefined]],
    'a topic of the other type',
  )
  await t.rejects(
    topics.update('words', () => 1),
    { code: 'incompatible_type' },
    'an update does not treat the topic as missing',
  )
  t.strictSame(await topics.removeMatches(anyOf(topic('empty'), topic('words'))), { removed: 2 })
})

t.test('pages and walks can have any size and start at any path', async (t) => {
  const paths = Array.from({ length: 25 }, (_, i) => `walk/${String(i).padStart(2, '0')}`)
  for (const [i, path] of paths.entries()) await topics.addAndSet(path, jsonText(`${i}.0`))
  const page = await topics.page(subtree('walk'), { size: 3 })
  t.equal(page.has_more, true)
  t.strictSame(
    page.results.map(({ path, text, value }) => [path, text, value]),
    paths.slice(0, 3).map((path, i) => [path, `${i}.0`, i]),
  )
  t.strictSame(await topics.page(descendants('walk/00')), { has_more: false, results: [] })
  for (const size of [1, 7, 24, 25, 26, undefined]) {
    const found = await everythingOf(topics.walk(subtree('walk'), { size }))
    t.strictSame(
      found.map(({ path }) => path),
      paths,
      `size ${size}`,
    )
  }
  const rest = await everythingOf(topics.walk(subtree('walk'), { size: 4, after: 'walk/19' }))
  t.strictSame(
    rest.map(({ path }) => path),
    paths.slice(20),
  )
  t.strictSame(await everythingOf(topics.walk(subtree('walk'), { type: 'string' })), [])
  t.strictSame(await topics.removeMatches(subtree('walk')), { removed: 25 })
})

t.test('a walk that is stopped early requests no further page', async (t) => {
  let requests = 0
  const counting = connect(server.url, {
    key: server.token,
    fetch: (...args) => {
      requests++
      return fetch(...args)
    },
  })
  for (const path of ['left/a', 'left/b', 'left/c']) await topics.add(path)
  for await (const { path } of counting.walk(subtree('left'), { size: 2 })) {
    if (path === 'left/b') break
  }
  t.equal(requests, 1)
  await topics.removeMatches(subtree('left'))
})

t.test('a rejection is thrown with its status, code and message', async (t) => {
  const missing = { status: 400, code: 'no_such_topic', message: 'There is no topic at the path "none".' }
  await t.rejects(topics.set('none', 1), { name: 'TopicdError', ...missing })
  await t.rejects(topics.page('*a(b'), { status: 400, code: 'invalid_selector' })
  const stranger = connect(server.url, { key: 'unknown' })
  await t.rejects(stranger.get('none'), { status: 401, code: 'unauthorized' })
  const elsewhere = connect(`${server.url}/elsewhere/`, { key: server.token })
  await t.rejects(elsewhere.get('none'), { status: 404, code: 'unknown_route' })
})
