/** A fetch of many topics by their paths: in their order, what is missing among them, and as they are at one moment. */
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
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

  await t.test('the results are in the order of the paths, one for each', async (t) => {
    gives(t, await post('fetch', { paths: ['b', 'a', 'a/b'] }), results(item('b'), item('a'), item('a/b')), 'in order')
    gives(t, await post('fetch', { paths: ['a', 'a'] }), results(item('a'), item('a')), 'a path given twice')
    gives(t, await post('fetch', { paths: ['/a/b/', 'a/ü'] }), results(item('a/b'), item('a/ü')), 'slashes are dropped')
    gives(t, await post('fetch', { paths: ['empty'] }), results('{"path":"empty","type":"json"}'), 'without a value')
  })

  await t.test('what is missing is told', async (t) => {
    const paths = ['none', 'a', 's', 'a/"/😀']
    gives(
      t,
      await post('fetch', { paths }),
      results(missing('none'), item('a'), missing('s'), missing('a/"/😀')),
      'among others',
    )
    const string = '{"path":"s","type":"string","value":"text"}'
    gives(t, await post('fetch', { paths: ['a', 's'], type: 'string' }), results(missing('a'), string), 'of one type')
    gives(t, await post('fetch', { paths: ['a', 's'], type: 'any' }), results(item('a'), string), 'of any')
  })

  await t.test('they have the forms of other results', async (t) => {
    const shown = '{"path":"s","type":"string","properties":{"DONT_RETAIN_VALUE":"false"}}'
    const form = { type: 'any', with_values: false, with_properties: true }
    gives(t, await post('fetch', { paths: ['s', 'none'], ...form }), results(shown, missing('none')), 'properties')
    const [one, many] = await Promise.all([
      post('fetch', { path: 'a', with_version: true }),
      post('fetch', { paths: ['a'], with_version: true }),
    ])
    t.match(one.text, /"version":\d+/)
    gives(t, many, results(one.text), 'the version')
  })

  await t.test('as many as are allowed, and one more', async (t) => {
    const paths = Array.from({ length: 1000 }, (_, i) => (i % 2 === 0 ? 'a' : `none/${i}`))
    const answer = await post('fetch', { paths })
    gives(t, answer, results(...paths.map((path) => (path === 'a' ? item(path) : missing(path)))), '1,000')
    const more = await post('fetch', { paths: [...paths, 'a'] })
    refuses(t, more, 400, 'invalid_parameter', 'one more', '"paths"', 'an array of 1 to 1000 paths')
    refuses(t, await post('fetch', { paths: [] }), 400, 'invalid_parameter', 'none', '"paths" is an empty array')
    const deep = await post('fetch', { paths: Array.from({ length: 5000 }, () => [[1]]) })
    refuses(t, deep, 400, 'invalid_parameter', 'many others', '"paths')
  })

  await t.test('what is not an array of paths is refused, and so is what only others have', async (t) => {
    for (const found of ['a', 1, null, { a: 'b' }]) {
      refuses(t, await post('fetch', { paths: found }), 400, 'invalid_parameter', JSON.stringify(found), '"paths"')
    }
    for (const found of [1, null, ['a'], {}, true]) {
      const answer = await post('fetch', { paths: ['a', found] })
      refuses(t, answer, 400, 'invalid_parameter', JSON.stringify(found), 'paths[1]', 'a string is allowed')
    }
    refuses(t, await post('fetch', { paths: ['a', 'a//b'] }), 400, 'invalid_path', 'which one', '"paths[1]"')
    for (const [name, value] of [
      ['path', 'a'],
      ['selector', '*a//'],
      ['size', 1],
      ['after', 'a'],
      ['count', true],
      ['deep_branch_depth', 1],
      ['deep_branch_limit', 1],
    ] as const) {
      const answer = await post('fetch', { paths: ['a'], [name]: value })
      refuses(t, answer, 400, 'invalid_parameter', name, `"${name}" is given with "paths"`)
    }
    refuses(t, await post('remove', { paths: ['a'] }), 400, 'unknown_parameter', 'remove', '"paths"')
    refuses(t, await post('changes', { paths: ['a'] }), 400, 'unknown_parameter', 'changes', '"paths"')
  })

  await t.test('each must be within the subtrees of the key, which may fetch', async (t) => {
    const [writer, restricted] = await Promise.all([
      addKey('no-fetches-of-paths', { allow: ['set', 'add', 'remove'] }),
      addKey('fetch-below-a', { allow: ['fetch'], under: ['a'] }),
    ])
    const none = await post('fetch', { paths: ['a'] }, { token: writer })
    refuses(t, none, 403, 'forbidden_operation', 'without the right')
    gives(
      t,
      await post('fetch', { paths: ['a', 'a/no'] }, { token: restricted }),
      results(item('a'), missing('a/no')),
      'inside',
    )
    const outside = await post('fetch', { paths: ['a', 'b'] }, { token: restricted })
    refuses(t, outside, 403, 'forbidden_path', 'one outside')
  })

  await t.test('what a page has no room for is left, with its number', async (t) => {
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
      t.equal(answer.rest ?? 0, paths.length - seen.length, 'those that are left')
      t.ok(requests < paths.length)
    }
    t.strictSame(seen, paths)
  })

  await t.test('all of them are of one moment', async (t) => {
    const random = seededRandom(t)
    const paths = Array.from({ length: 50 }, (_, i) => `moment/${i}`)
    let isOver = false
    const write = async (): Promise<void> => {
      for (let value = 0; !isOver; value++) {
        const operations = paths.map((path) => ({ op: 'addAndSet', path, value }))
        if ((await post('batch', { operations })).status !== 200) throw new Error('a batch was refused')
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
