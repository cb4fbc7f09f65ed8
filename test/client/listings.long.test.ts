/**
 * What a listing asks for, and what the client makes of the answers: children, properties, items without values, dry
 * runs. By a stub and by the real service.
 */
import t from 'tap'
import { type Child, connect, descendants, subtree } from '../../dist/client/index.js'
import { at, everythingOf } from '../support/elements.js'
import { startServer } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

const server = await startServer(t, { workers: 2 })

t.test('a list asks for two results of each branch, and names the children', async (t) => {
  const pages = [
    '{"has_more":true,"results":[{"path":"a.b/c/x/y","type":"json"},{"path":"a.b/d","type":"string"}]}',
    '{"has_more":false,"results":[{"path":"a.b/d/e","type":"json"},{"path":"a.b/é\\u002f","type":"json"}]}',
  ]
  const stub = await startStub(t, (_, index) => ({ text: at(pages, index % 2) }))
  const topics = connect(stub.url, { key: 'k' })
  t.strictSame(await everythingOf(topics.list('/a.b/', { size: 2 })), [
    { path: 'a.b/c', name: 'c', type: undefined, hasChildren: true },
    { path: 'a.b/d', name: 'd', type: 'string', hasChildren: true },
    { path: 'a.b/é', name: 'é', type: undefined, hasChildren: true },
  ])
  const members = {
    selector: '?a\\.b/',
    type: 'any',
    with_values: false,
    deep_branch_depth: 2,
    deep_branch_limit: 2,
    size: 2,
  }
  t.strictSame(JSON.parse(at(stub.requests, 0).text), members)
  t.strictSame(JSON.parse(at(stub.requests, 1).text), { ...members, after: 'a.b/d' })
  await topics.list().next()
  t.match(JSON.parse(at(stub.requests, 2).text), { selector: '?.*//', deep_branch_depth: 1, size: 100 })
  await t.rejects(topics.list('a//b').next(), RangeError)
})

t.test('get and page send their options, and return what these add', async (t) => {
  const text = '{"path":"a","type":"string","value":"x","properties":{"__proto__":"1","B":"2"}}'
  const stub = await startStub(t, ({ text: body }) => ({
    text: body.includes('selector') ? `{"has_more":false,"results":[${text}]}` : text,
  }))
  const topics = connect(stub.url, { key: 'k' })
  const members = { type: 'any', with_properties: true, with_values: false } as const
  const item = await topics.get('a', members)
  t.strictSame(JSON.parse(at(stub.requests, 0).text), { path: 'a', ...members })
  t.strictSame(Object.entries(item?.properties ?? {}), [
    ['__proto__', '1'],
    ['B', '2'],
  ])
  const deep = { deep_branch_depth: 3, deep_branch_limit: 0 }
  const { results } = await topics.page('>a', { ...members, ...deep, size: 5, after: 'b' })
  t.strictSame(JSON.parse(at(stub.requests, 1).text), { selector: '>a', ...members, ...deep, size: 5, after: 'b' })
  t.strictSame([results[0]?.text, results[0]?.value], ['"x"', 'x'])
})

t.test('the version of an item is read where it was asked for', async (t) => {
  const [version, updated] = [Number.MAX_SAFE_INTEGER, '2248-01-01T00:00:00.000Z']
  const text = `{"path":"a","type":"json","version":${version},"updated":"${updated}","value":1.0}`
  const stub = await startStub(t, () => ({ text }))
  const topics = connect(stub.url, { key: 'k' })
  const item = await topics.get('a', { with_version: true })
  t.strictSame(JSON.parse(at(stub.requests, 0).text), { path: 'a', with_version: true })
  t.strictSame([item?.version, item?.updated, item?.text], [version, updated, '1.0'])
  t.equal(JSON.stringify(item), text.replace('1.0', '1'), 'JSON has it, too')
  await topics.set('a', 2, { constraint: { version } })
  t.strictSame(JSON.parse(at(stub.requests, 1).text), { path: 'a', value: 2, constraint: { version } })
})

t.test('the service lists, leaves out values, adds properties, and counts without removing', async (t) => {
  const topics = connect(server.url, { key: server.token })
  for (const path of ['l.1/a', 'l.1/a/x', 'l.1/b/x/y', 'l.1/b/x/z', 'l-1/c', 'top']) await topics.addAndSet(path, 1)
  await topics.addAndSet('l.1/words', 'w', { type: 'string', properties: { X: 'y' } })
  for (const size of [1, 2, 100]) {
    const list = async (path?: string): Promise<Child[]> => everythingOf(topics.list(path, { size }))
    t.strictSame(await list('l.1'), [
      { path: 'l.1/a', name: 'a', type: 'json', hasChildren: true },
      { path: 'l.1/b', name: 'b', type: undefined, hasChildren: true },
      { path: 'l.1/words', name: 'words', type: 'string', hasChildren: false },
    ])
    t.strictSame(
      (await list()).map(({ name, type }) => [name, type]),
      [
        ['l-1', undefined],
        ['l.1', undefined],
        ['top', 'json'],
      ],
    )
    t.strictSame(await list('none'), [])
  }
  const [words] = await everythingOf(
    topics.walk(subtree('l.1/words'), { type: 'any', with_values: false, with_properties: true }),
  )
  t.strictSame([words?.text, words?.properties], [undefined, { X: 'y' }])
  t.strictSame((await topics.get('l.1/words', { type: 'any' }))?.value, 'w')
  t.strictSame(await topics.removeMatches(descendants('l.1/b'), { dry_run: true }), { removed: 2 })
  t.strictSame(await topics.remove('l.1/words', { dry_run: true }), { removed: 1 })
  t.strictSame([await topics.count('*l.1//'), await topics.count('*l.1//', { type: 'any' })], [4, 5])
  t.strictSame(await topics.removeMatches(descendants('l.1/b')), { removed: 2 })
})
