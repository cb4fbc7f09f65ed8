/** A fetch of many topics by their paths: in request order, with missing topics marked, and from one snapshot. */
import t from 'tap'
import { answers, gives, type Row } from '../support/expected-answers.js'
import { seededRandom } from '../support/random.js'
import { overStores } from '../support/service/over-stores.js'

await overStores(t, async (t, { post, addKey }) => {
  await post('remove', { selector: '*.*' })
  for (const path of ['a', 'a/b', 'a/ü', 'b']) await post('addAndSet', { path, value: { of: path } })
  await post('addAndSet', { path: 's', type: 'string', value: 'text', properties: { DONT_RETAIN_VALUE: 'false' } })
  await post('add', { path: 'empty' })
  const item = (path: string) => `{"path":"${path}","type":"json","value":{"of":"${path}"}}`
  const missing = (path: string) => `{"path":${JSON.stringify(path)},"missing":true}`
  const results = (...items: string[]) => `{"results":[${items.join(',')}]}`

  const inTurn = (name: string, rows: readonly Row[]) => t.test(name, (t) => answers(t, post, rows))
  const string = '{"path":"s","type":"string","value":"text"}'
  const shown = '{"path":"s","type":"string","properties":{"DONT_RETAIN_VALUE":"false"}}'
  const form = { type: 'any', with_values: false, with_properties: true }

  await inTurn('each path has one result, in order, and missing topics are marked', [
    ['fetch', { paths: ['b', 'a', 'a/b'] }, results(item('b'), item('a'), item('a/b'))],
    ['fetch', { paths: ['a', 'a'] }, results(item('a'), item('a'))],
    ['fetch', { paths: ['/a/b/', 'a/ü'] }, results(item('a/b'), item('a/ü'))],
    ['fetch', { paths: ['empty'] }, results('{"path":"empty","type":"json"}')],
    ['fetch', { paths: ['none', 'a', 'a/"/😀'] }, results(missing('none'), item('a'), missing('a/"/😀'))],
    ['fetch', { paths: ['a', 's'] }, results(item('a'), missing('s'))],
    ['fetch', { paths: ['a', 's'], type: 'string' }, results(missing('a'), string)],
    ['fetch', { paths: ['a', 's'], type: 'any' }, results(item('a'), string)],
    ['fetch', { paths: ['s', 'none'], ...form }, results(shown, missing('none'))],
  ])
  const version = await post('fetch', { path: 'a', with_version: true })
  t.match(version.text, /"version":\d+/)
  gives(t, await post('fetch', { paths: ['a'], with_version: true }), results(version.text), 'with the version')

  const many = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? 'a' : `none/${i}`))
  await inTurn('a fetch has 1 to 1,000 paths', [
    ['fetch', { paths: many }, results(...many.map((path) => (path === 'a' ? item(path) : missing(path))))],
    ['fetch', { paths: [...many, 'a'] }, 'invalid_parameter', '"paths"', 'an array of 1 to 1000 paths'],
    ['fetch', { paths: [] }, 'invalid_parameter', 'not an empty array'],
    ['fetch', { paths: Array.from({ length: 5000 }, () => [[1]]) }, 'invalid_parameter', '"paths'],
  ])

  const ofOthers = { path: 'a', selector: '*a//', size: 1, after: 'a', count: true, deep_branch_depth: 1 }
  await inTurn('`paths` must be an array of paths, without members of other forms of fetch', [
    ...['a', 1, null, { a: 'b' }].map((paths): Row => ['fetch', { paths }, 'invalid_parameter', '"paths"']),
    ...[1, null, ['a'], {}, true].map((found): Row => {
      return ['fetch', { paths: ['a', found] }, 'invalid_parameter', 'paths[1]', 'must be a string']
    }),
    ['fetch', { paths: ['a', 'a//b'] }, 'invalid_path', '"paths[1]"'],
    ...Object.entries({ ...ofOthers, deep_branch_limit: 1 }).map(([name, value]): Row => {
      return [
        'fetch',
        { paths: ['a'], [name]: value },
        'invalid_parameter',
        `"${name}" cannot be combined with "paths"`,
      ]
    }),
    ['remove', { paths: ['a'] }, 'unknown_parameter', '"paths"'],
    ['changes', { paths: ['a'] }, 'unknown_parameter', '"paths"'],
  ])

  await t.test("a fetch of paths needs permission to fetch, and each path must be in the key's subtrees", async (t) => {
    const writer = await addKey('no-fetches-of-paths', { allow: ['set', 'add', 'remove'] })
    await answers(t, post, [['fetch', { paths: ['a'] }, 'forbidden_operation']], writer)
    const restricted = await addKey('fetch-below-a', { allow: ['fetch'], under: ['a'] })
    const inside: Row = ['fetch', { paths: ['a', 'a/no'] }, results(item('a'), missing('a/no'))]
    await answers(t, post, [inside, ['fetch', { paths: ['a', 'b'] }, 'forbidden_path']], restricted)
  })

  await t.test('the number of paths that do not fit on the page is returned as `rest`', async (t) => {
    const big = 'x'.repeat(900_000)
    const paths = Array.from({ length: 20 }, (_, i) => `big/${i}`)
    for (const path of paths) await post('addAndSet', { path, value: big })
    const seen: string[] = []
    for (let requests = 0; seen.length < paths.length; requests++) {
      const { status, text } = await post('fetch', { paths: paths.slice(seen.length) })
      t.equal(status, 200)
      const answer = JSON.parse(text) as { results: { path: string; value: string }[]; rest?: number }
      t.ok(answer.results.length > 0 && answer.results.every(({ value }) => value === big))
      seen.push(...answer.results.map(({ path }) => path))
      t.equal(answer.rest ?? 0, paths.length - seen.length, 'the number of paths left')
      t.ok(requests < paths.length)
    }
    t.strictSame(seen, paths)
  })

  await t.test('all results of a fetch of paths are from one snapshot', async (t) => {
    const random = seededRandom(t)
    const paths = Array.from({ length: 50 }, (_, i) => `moment/${i}`)
    let isOver = false
    const write = async (): Promise<void> => {
      for (let value = 0; !isOver; value++) {
        const operations = paths.map((path) => ({ op: 'addAndSet', path, value }))
        if ((await post('batch', { operations })).status !== 200) throw new Error('a batch was rejected')
      }
    }
    await post('batch', { operations: paths.map((path) => ({ op: 'addAndSet', path, value: -1 })) })
    const writing = write()
    let changes = 0
    for (let last = -1, reads = 0; changes < 10 || reads < 50; reads++) {
      const shuffled = [...paths].sort(() => random.below(3) - 1)
      const { text } = await post('fetch', { paths: shuffled })
      const { results } = JSON.parse(text) as { results: { path: string; value: number }[] }
      const values = new Set(results.map(({ value }) => value))
      if (values.size !== 1) t.fail(`values of different batches: ${[...values].join()}`)
      const [value = -1] = values
      if (value !== last) changes++
      last = value
    }
    isOver = true
    await writing
    t.pass(`${changes} states were seen, each of one batch`)
  })
})
