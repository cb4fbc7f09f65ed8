/**
 * Listings: the requests and the client's results for children, properties, items without values, and dry runs. Tested
 * with a stub and with the real service.
 */
import t from 'tap'
import { type Child, connect, descendants, subtree } from '../../dist/client/index.js'
import { at, everythingOf } from '../support/elements.js'
import { startServer } from '../support/service/server.js'
import { startStub } from '../support/service/stub.js'

const server = await startServer(t, { workers: 2 })

t.test('list() requests two results per branch and returns the children', async (t) => {
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

t.test('with a service, a client lists children, omits values, gets properties, and counts in a dry run', async (t) => {
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
    const later = await everythingOf(topics.list('/l.1/', { size, after: '/l.1/a' }))
    t.strictSame(
      later.map(({ name }) => name),
      ['b', 'words'],
    )
  }
  const [words] = await everythingOf(
    topics.walk(subtree('l.1/words'), { type: 'any', with_values: false, with_properties: true }),
  )
  t.strictSame([words?.text, words?.properties], [undefined, { X: 'y' }])
  t.strictSame((await topics.get('l.1/words', { type: 'any' }))?.value, 'w')
  t.strictSame(await topics.removeMatches(descendants('l.1/b'), { dry_run: true }), { removed: 2 })
  t.strictSame(await topics.remove('l.1/words', { dry_run: true }), { removed: 1 })
  t.strictSame([await topics.count(subtree('l.1')), await topics.count(subtree('l.1'), { type: 'any' })], [4, 5])
  t.strictSame(await topics.removeMatches(descendants('l.1/b')), { removed: 2 })
})
