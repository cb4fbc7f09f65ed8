/** A fetch that only counts the topics of a type that match a selector, within the key's subtrees. */
import t from 'tap'
import { answers, type Row } from '../support/expected-answers.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  await post('remove', { selector: '*.*' })
  for (const path of ['a', 'a/b', 'a/b/c', 'a-b', 'b/a']) await post('addAndSet', { path, value: 1 })
  await post('addAndSet', { path: 'a/s', type: 'string', value: 'x' })
  await post('add', { path: 'a/e' })
  const count = (members: object): readonly ['fetch', object] => ['fetch', { count: true, ...members }]

  const matches = [
    ['*a//', 4, 1],
    ['?a/', 3, 1],
    ['>a/s', 0, 1],
    ['#>a////>b/a', 2, 0],
    ['*none//', 0, 0],
    ['*.*', 6, 1],
  ] as const
  await t.test('a count covers one type, json by default, or both', (t) =>
    answers(t, post, [
      ...matches.flatMap(([selector, json, string]): Row[] => [
        [...count({ selector }), `{"count":${json}}`],
        [...count({ selector, type: 'string' }), `{"count":${string}}`],
        [...count({ selector, type: 'any' }), `{"count":${json + string}}`],
      ]),
      ['fetch', { path: 'a', count: false }, '{"path":"a","type":"json","value":1}'],
    ]),
  )

  const ofPages = { size: 10, after: 'a', deep_branch_depth: 1, deep_branch_limit: 1, with_values: true }
  await t.test('a count with a path or with a paging parameter is rejected', (t) =>
    answers(t, post, [
      [...count({ path: 'a' }), 'invalid_parameter', '"count"'],
      ...Object.entries({ ...ofPages, with_properties: false, with_version: true }).map(([name, value]): Row => {
        return [
          ...count({ selector: '*a//', [name]: value }),
          'invalid_parameter',
          `"${name}" cannot be combined with "count"`,
        ]
      }),
      ...[0, 'true', null, []].map((found): Row => {
        return [...count({ selector: '*a//', count: found }), 'invalid_parameter', '"count"', 'true or false']
      }),
      [...count({ path: 'a', selector: '*a//' }), 'path_or_selector'],
      [...count({}), 'path_or_selector'],
      [...count({ selector: '%' }), 'invalid_selector'],
      ['remove', { selector: '*a//', count: true }, 'unknown_parameter', '"count"'],
    ]),
  )

  await t.test('a count needs the permission to fetch and includes only accessible topics', async (t) => {
    const writer = await addKey('no-fetches', { allow: ['set', 'add', 'remove'] })
    const all = { selector: '*a//', type: 'any' }
    await answers(t, post, [[...count(all), 'forbidden_operation', 'may not fetch']], writer)
    const restricted = await addKey('fetch-below-a-b', { allow: ['fetch'], under: ['a/b', 'b'] })
    const rows = [
      [{ ...all, selector: '*.*' }, 3],
      [all, 2],
      [{ ...all, selector: '*a-b' }, 0],
    ] as const
    await answers(t, post, [...rows.map(([body, found]): Row => [...count(body), `{"count":${found}}`])], restricted)
  })
})
