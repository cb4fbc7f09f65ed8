/** The routes for single topics and for pages: the response to each request and its effect on the next ones. */
import t from 'tap'
import { answers, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

const created = (path: string): string => `{"path":${JSON.stringify(path)},"created":true}`
const existed = (path: string): string => `{"path":${JSON.stringify(path)},"created":false}`
const json = (path: string, value: string): string => `{"path":"${path}","type":"json","value":${value}}`
const string = (path: string, value: string): string => `{"path":"${path}","type":"string","value":"${value}"}`
const page = (...items: readonly string[]): string => `{"has_more":false,"results":[${items.join(',')}]}`

/** Rows for several bodies of one route, with the same response. */
const each = <Found>(
  found: readonly Found[],
  route: string,
  body: (one: Found) => object,
  ...answer: [string, string]
) => found.map((one): Row => [route, body(one), ...answer])

await overStores(t, async (t, { post, client }) => {
  const inTurn = (name: string, rows: readonly Row[]) => t.test(name, (t) => answers(t, post, rows))

  await inTurn('add creates a topic without a value, and no other topic', [
    ['add', { path: 'a' }, created('a')],
    ['fetch', { path: 'a' }, '{"path":"a","type":"json"}'],
    ['fetch', { selector: '*a//' }, page('{"path":"a","type":"json"}')],
    ['add', { path: 's', type: 'string' }, created('s')],
    ['fetch', { path: 's', type: 'string' }, '{"path":"s","type":"string"}'],
    ['add', { path: 'x/y/z' }, created('x/y/z')],
    ...each(['x', 'x/y', 'x/y/z/w'], 'fetch', (path) => ({ path }), 'no_such_topic', 'There is no topic'),
    ['add', { path: 'x' }, created('x')],
    ['set', { path: 'x', value: [1] }, '{"path":"x"}'],
    ['fetch', { path: 'x' }, json('x', '[1]')],
    ['add', {}, 'missing_parameter', '"path"'],
  ])

  await inTurn('add of an existing topic returns 200 and changes nothing', [
    ['addAndSet', { path: 'p', value: 1 }, created('p')],
    ['add', { path: 'p' }, existed('p')],
    ['add', { path: 'p', type: 'string' }, existed('p')],
    ['add', { path: '/p/', properties: { DONT_RETAIN_VALUE: 'true' } }, existed('p')],
    ['fetch', { path: 'p' }, json('p', '1')],
    ['set', { path: 'p', value: 2 }, '{"path":"p"}'],
    ['fetch', { path: 'p' }, json('p', '2')],
  ])

  const paths = [
    ...[' ', 'a b', 'é', 'e\u0301', '日本/語', '😀', '\u0001\u001f\u007f', '"\\', '*?#>', '..', 'a\nb', '\ufeff'],
  ]
  await inTurn('any string without empty segments, U+0000 or lone surrogates is a path', [
    ...paths.flatMap((path): Row[] => [
      ['add', { path }, created(path)],
      ['fetch', { path }, JSON.stringify({ path, type: 'json' })],
    ]),
    ['add', '{"path":"\\u00e9"}', existed('é')],
    ['add', { path: 'É' }, created('É')],
    ...['', '/', '//', 'a//b', '//a', 'a//', 'a\0b', '\0'].flatMap((path): Row[] => [
      ['add', { path }, 'invalid_path', '"path"'],
      ['fetch', { path }, 'invalid_path', '"path"'],
    ]),
    ...['\\ud800', 'a\\udc00b', '\\udc00\\ud800', 'a/\\ud83d/b'].map(
      (path): Row => ['add', `{"path":"${path}"}`, 'invalid_path', '"path"', 'surrogate'],
    ),
  ])

  await inTurn('set replaces the value of an existing topic and returns its path', [
    ['add', { path: 't/a' }, created('t/a')],
    ['addAndSet', { path: 't/a/q', value: 2 }, created('t/a/q')],
    ...[1, 'text', null, [], 'same', 'same'].flatMap((value): Row[] => [
      ['set', { path: '/t/a/', value }, '{"path":"t/a"}'],
      ['fetch', { path: 't/a' }, json('t/a', JSON.stringify(value))],
    ]),
    ['fetch', { path: 't/a/q' }, json('t/a/q', '2')],
    ['set', { path: 't', value: 1 }, 'no_such_topic', '"t"'],
    ['fetch', { path: 't' }, 'no_such_topic', '"t"'],
    ['set', { path: 't/a', type: 'string', value: 'x' }, 'incompatible_type', '"t/a"'],
    ['fetch', { path: 't/a' }, json('t/a', '"same"')],
    ['set', { path: 't/a' }, 'missing_parameter', '"value"'],
    ['set', { value: 1 }, 'missing_parameter', '"path"'],
    ['set', { selector: '*a//', path: 't/a', value: 1 }, 'unknown_parameter', '"selector"'],
  ])

  await inTurn('a string topic accepts only JSON strings', [
    ['add', { path: 't/s', type: 'string' }, created('t/s')],
    ...['x', '', '5'].flatMap((value): Row[] => [
      ['set', { path: 't/s', type: 'string', value }, '{"path":"t/s"}'],
      ['fetch', { path: 't/s', type: 'string' }, string('t/s', value)],
    ]),
    ...[5, null, true, [], {}, ['x']].flatMap((value): Row[] => [
      ['set', { path: 't/s', type: 'string', value }, 'invalid_parameter', '"value"', 'string'],
      ['addAndSet', { path: 't/new', type: 'string', value }, 'invalid_parameter', '"value"', 'string'],
    ]),
    ['set', { path: 't/s', value: 'x' }, 'incompatible_type', '"t/s"'],
    ['fetch', { path: 't/s', type: 'string' }, string('t/s', '5')],
    ['fetch', { path: 't/new' }, 'no_such_topic', '"t/new"'],
  ])

  await inTurn('addAndSet creates a topic or sets a compatible one', [
    ['addAndSet', { path: 'w/b', value: 1 }, created('w/b')],
    ['fetch', { path: 'w/b' }, json('w/b', '1')],
    ['addAndSet', { path: '/w/b/', value: null }, existed('w/b')],
    ['fetch', { path: 'w/b' }, json('w/b', 'null')],
    ['addAndSet', { path: 'w/b', type: 'string', value: 'x' }, 'incompatible_type', '"w/b"', 'json', 'string'],
    ['fetch', { path: 'w/b' }, json('w/b', 'null')],
    ['remove', { path: 'w/b' }, '{"removed":1}'],
    ['addAndSet', { path: 'w/b', type: 'string', value: 'new' }, created('w/b')],
    ['fetch', { path: 'w/b', type: 'string' }, string('w/b', 'new')],
    ['addAndSet', { path: 'w/b', value: 1 }, 'incompatible_type', '"w/b"'],
    ['addAndSet', { path: 'v' }, 'missing_parameter', '"value"'],
    ['addAndSet', { value: 1 }, 'missing_parameter', '"path"'],
  ])

  await post('remove', { selector: '?.*//' })
  const tree = ['a', 'a/b', 'a/c', 'a/c/x', 'a-b', 'a+b', 'a+b/c', 'aab', 'b']
  for (const path of tree) await post('addAndSet', { path, value: { of: path } })
  await post('addAndSet', { path: 'a/s', type: 'string', value: 'text' })
  const item = (path: string): string => json(path, `{"of":"${path}"}`)
  const items = (...paths: readonly string[]): string => page(...paths.map(item))
  const selected = (selector: string, ...paths: readonly string[]): Row => ['fetch', { selector }, items(...paths)]

  await inTurn('fetch by path returns the topic if it has the type', [
    ...each(['a/c', '/a/c', 'a/c/', '/a/c/'], 'fetch', (path) => ({ path }), item('a/c'), ''),
    ['fetch', { path: 'a', type: 'json' }, item('a')],
    ['fetch', { path: 'a/s', type: 'string' }, string('a/s', 'text')],
    ['fetch', { path: 'a/none' }, 'no_such_topic', '"a/none"'],
    ['fetch', { path: 'a/s' }, 'incompatible_type', '"a/s"', 'string', 'json'],
    ['fetch', { path: 'a', type: 'string' }, 'incompatible_type', 'string', 'json'],
  ])

  const wrong = ['', '?', '*', '$a', '%a', '&a', '<a', '?a/(', '*(?=a)b', '*(a)\\1', '*a(b', '>a//b', '#', '#>a////%b']
  await inTurn('fetch by selector returns a page of its matches of the type, in tree order', [
    selected('*a//', 'a', 'a/b', 'a/c', 'a/c/x'),
    selected('*a/c//', 'a/c', 'a/c/x'),
    selected('*a+b//', 'a+b', 'a+b/c', 'aab'),
    selected('*\\Qa+b\\E//', 'a+b', 'a+b/c'),
    selected('>a/c', 'a/c'),
    selected('a/c', 'a/c'),
    selected('?a/.', 'a/b', 'a/c'),
    selected('?a/c/', 'a/c/x'),
    selected('?a/c//', 'a/c', 'a/c/x'),
    selected('*a/', 'a/b', 'a/c', 'a/c/x'),
    selected('#>b////?a/c//////>a-b', 'a/c', 'a/c/x', 'a-b', 'b'),
    ['fetch', { selector: '*a//', type: 'string' }, page(string('a/s', 'text'))],
    ...['>a/s', '*none//', '>none', 'none', '?none/.*', '*none.*', '#>none////>never'].map((none) => selected(none)),
    ...each(wrong, 'fetch', (selector) => ({ selector }), 'invalid_selector', '"selector"'),
    ['fetch', {}, 'path_or_selector', '"path"', '"paths"', '"selector"'],
    ['fetch', { path: 'a', selector: '*a//' }, 'path_or_selector', '"path"', '"selector"'],
  ])

  await t.test('a page has ten results by default and starts after the given path', async (t) => {
    for (let i = 10; i < 22; i++) await post('addAndSet', { path: `many/${i}`, value: i })
    const many = (from: number, to: number, more: boolean): string => {
      const results = Array.from({ length: to - from }, (_, i) => json(`many/${from + i}`, String(from + i)))
      return `{"has_more":${more},"results":[${results.join(',')}]}`
    }
    await answers(t, post, [
      ['fetch', { selector: '*many//' }, many(10, 20, true)],
      ['fetch', { selector: '*many//', after: 'many/19' }, many(20, 22, false)],
      ['fetch', { selector: '*many//', size: 2 }, many(10, 12, true)],
      ['fetch', { selector: '*many//', size: 12 }, many(10, 22, false)],
    ])
  })

  await t.test('remove removes and counts the topics of either type that match its path or selector', async (t) => {
    for (const [target, removed, ...left] of [
      [{ path: '/a/b/' }, 1, 'a', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a', 'a/s'],
      [{ path: 'a/s' }, 1, 'a', 'a/b', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a'],
      [{ selector: '*a//' }, 5, 'a-b', 'ab', 'b/a'],
      [{ selector: '?a/' }, 4, 'a', 'a-b', 'ab', 'b/a'],
      [{ selector: '#>a////>b/a////?a./' }, 2, 'a/b', 'a/b/c', 'a/d', 'a/s', 'a-b', 'ab'],
      [{ selector: '*a.b' }, 2, 'a', 'a/b/c', 'a/d', 'a/s', 'ab', 'b/a'],
    ] as const) {
      await post('remove', { selector: '?.*//' })
      for (const path of ['a', 'a/b', 'a/b/c', 'a/d', 'a-b', 'ab', 'b/a']) await post('addAndSet', { path, value: 1 })
      await post('addAndSet', { path: 'a/s', type: 'string', value: 'x' })
      await answers(t, post, [['remove', target, `{"removed":${removed}}`]])
      const pages = await client.walk('?.*//', { type: 'any' })
      const paths = pages.flatMap(({ results }) => results.map(({ path }) => path))
      t.strictSame(paths.sort(), [...left].sort(), `${JSON.stringify(target)} leaves the other topics`)
    }
    await answers(t, post, [
      ['remove', { path: 'none' }, '{"removed":0}'],
      ['remove', { path: 'b' }, '{"removed":0}'],
      ['remove', { selector: '*none//' }, '{"removed":0}'],
      ['remove', {}, 'path_or_selector', '"path"', '"selector"'],
      ['remove', { path: 'a', selector: '*a//' }, 'path_or_selector', '"path"', '"selector"'],
      ['remove', { path: 'a', type: 'json' }, 'unknown_parameter', '"type"'],
      ['remove', { selector: '*a//', size: 1 }, 'unknown_parameter', '"size"'],
      ['remove', { selector: '%a' }, 'invalid_selector', '"selector"'],
      ['remove', { path: 'a//b' }, 'invalid_path', '"path"'],
      ['fetch', { selector: '*a//', count: true }, '{"count":3}'],
    ])
  })
})
