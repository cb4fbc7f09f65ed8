/**
 * Other forms of fetch: limited branches, items with properties or without values, topics of both types, and the faults that
 * are rejected.
 */
import t, { type Test } from 'tap'
import { answers, type Row } from '../support/expected-answers.js'
import { type FetchedPage, pathsOf } from '../support/service/client.js'
import { overStores } from '../support/service/over-stores.js'
import type { Server } from '../support/service/server.js'

/** The tree of the documentation of Diffusion's limitDeepBranches, in tree order. */
const tree = ['x/0', 'x/x/1', 'x/x/x/2', 'y/y/y/4', 'y/y/y/y/3', 'z/5', 'z/z/6']

const uint32Max = 2 ** 32 - 1

await overStores(t, async (t, server) => {
  await t.test('each branch returns at most as many topics as the limit allows', (t) => limitedBranches(t, server))
  await t.test('an invalid limit is rejected', (t) => wrongLimits(t, server))
  await t.test('items have the requested members', (t) => forms(t, server))
})

async function limitedBranches(t: Test, { post, addKey }: Server): Promise<void> {
  for (const path of tree) await post('add', { path })

  async function pathsWith(depth: number, limit: number, more: object = {}, token?: string): Promise<string[]> {
    const members = { selector: '?.*//', deep_branch_depth: depth, deep_branch_limit: limit, ...more }
    const answer = await post('fetch', members, token === undefined ? {} : { token })
    if (answer.status !== 200) throw new Error(answer.text)
    return pathsOf([JSON.parse(answer.text) as FetchedPage])
  }

  await t.test('a limit counts the topics from each branch root downwards, but no topics above it', async (t) => {
    t.strictSame(await pathsWith(1, 1), ['x/0', 'y/y/y/4', 'z/5'])
    t.strictSame(await pathsWith(3, 0), ['x/0', 'z/5'])
    t.strictSame(await pathsWith(1, 0), [])
    t.strictSame(await pathsWith(2, 0), [])
    t.strictSame(await pathsWith(1, 2), ['x/0', 'x/x/1', 'y/y/y/4', 'y/y/y/y/3', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(2, 1), ['x/0', 'x/x/1', 'y/y/y/4', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(4, 1), ['x/0', 'x/x/1', 'x/x/x/2', 'y/y/y/4', 'y/y/y/y/3', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(4, 0), ['x/0', 'x/x/1', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(uint32Max, 0), tree, 'the largest depth')
    t.strictSame(await pathsWith(1, uint32Max), tree, 'the largest limit')
  })

  await t.test('only matches count towards the limit of a branch', async (t) => {
    t.strictSame(await pathsWith(1, 1, { selector: '*.*/[136]' }), ['x/x/1', 'y/y/y/y/3', 'z/z/6'])
    t.strictSame(await pathsWith(1, 1, { selector: '#>x/x/1////?x/x/x//' }), ['x/x/1'], 'a branch of two ranges')
  })

  await t.test("a page with `after` also counts the branch's matches up to that path", async (t) => {
    t.strictSame(await pathsWith(1, 2, { after: 'x/0' }), ['x/x/1', 'y/y/y/4', 'y/y/y/y/3', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(1, 2, { after: 'x/x/1' }), ['y/y/y/4', 'y/y/y/y/3', 'z/5', 'z/z/6'])
    t.strictSame(await pathsWith(1, 1, { after: 'y/y' }), ['y/y/y/4', 'z/5'], 'no topic there, and no match before it')
    t.strictSame(await pathsWith(1, 1, { after: 'y/y/z' }), ['z/5'], 'no topic there, but a match before it')
    t.strictSame(await pathsWith(1, 1, { after: 'z/5' }), [])
  })

  await t.test('pages of any size add up to one large page, and has_more is exact', async (t) => {
    for (const [depth, limit] of [
      [1, 1],
      [1, 2],
      [2, 1],
      [3, 0],
      [4, 1],
    ] as const) {
      const whole = await pathsWith(depth, limit)
      for (let size = 1; size <= tree.length; size++) {
        const members = { selector: '?.*//', deep_branch_depth: depth, deep_branch_limit: limit, size }
        const pages: FetchedPage[] = []
        for (let after: string | undefined; ; after = pages.at(-1)?.results.at(-1)?.path) {
          const page = JSON.parse((await post('fetch', { ...members, after })).text) as FetchedPage
          pages.push(page)
          if (!page.has_more) break
        }
        t.strictSame(pathsOf(pages), whole, `${depth}, ${limit} in pages of ${size}`)
        t.equal(pages.length, Math.ceil(whole.length / size), 'as few pages as possible')
      }
    }
  })

  await t.test('topics outside the subtrees of a key do not count towards a limit', async (t) => {
    const token = await addKey('branches', { allow: ['fetch'], under: ['x/x/x', 'y/y/y/y', 'z'] })
    t.strictSame(await pathsWith(1, 1, {}, token), ['x/x/x/2', 'y/y/y/y/3', 'z/5'])
    const apart = await addKey('apart', { allow: ['fetch'], under: ['x/0', 'x/x/x'] })
    t.strictSame(await pathsWith(1, 1, {}, apart), ['x/0'], 'two subtrees in one branch')
    t.strictSame(await pathsWith(1, 2, { after: 'x/0' }, apart), ['x/x/x/2'])
    t.strictSame(await pathsWith(1, 1, { after: 'x/0' }, apart), [])
  })
}

async function wrongLimits(t: Test, { post }: Server): Promise<void> {
  const body = (members: string, start = '"selector":"?.*//"'): string => `{${start},${members}}`
  const rows = Object.entries({ deep_branch_depth: 1, deep_branch_limit: 0 }).flatMap(([name, min]): Row[] => {
    const other = name === 'deep_branch_depth' ? 'deep_branch_limit' : 'deep_branch_depth'
    const wrong = [String(min - 1), '1.0000000000000000001', '1.5', '1e-400', '4294967296', '1e400']
    return [
      ['fetch', body(`"${name}":1`), 'missing_parameter', `"${other}" is missing`, `"${name}"`],
      ['fetch', body(`"${name}":1,"${name}":1`), 'duplicate_parameter', `"${name}"`],
      ...wrong.flatMap((number): Row[] => {
        const mention = `must be an integer from ${min} to 4294967295, not the number ${number}`
        return ['"selector":"?.*//"', '"path":"x/0"'].map((start) => {
          const members = `"${other}":1,"${name}":${number}`
          return ['fetch', body(members, start), 'invalid_parameter', `"${name}"`, mention]
        })
      }),
      ...['"1"', 'null', '[1]'].map((value): Row => {
        return ['fetch', body(`"${other}":1,"${name}":${value}`), 'invalid_parameter', `"${name}"`, `from ${min}`]
      }),
    ]
  })
  const item = '{"path":"x/0","type":"json"}'
  // With a path, these members are validated and ignored, like a size.
  await answers(t, post, [...rows, ['fetch', body('"deep_branch_depth":1', '"path":"x/0"'), item]])
}

async function forms(t: Test, { post }: Server): Promise<void> {
  const properties = { VALIDATE_VALUES: 'true', 'né"w': '}' }
  await post('addAndSet', { path: 'f', value: { a: 1 } })
  await post('addAndSet', { path: 'f/p', value: 'x', type: 'string', properties })
  await post('add', { path: 'f/q', properties: { DONT_RETAIN_VALUE: 'true' } })
  await post('add', { path: 'f/r', type: 'string' })

  const plain = '{"path":"f","type":"json","value":{"a":1}}'
  const shown = `"properties":${JSON.stringify(properties)}`
  const p = `{"path":"f/p","type":"string","value":"x",${shown}}`
  const r = '{"path":"f/r","type":"string","properties":{}}'
  const page = (...items: readonly string[]): string => `{"has_more":false,"results":[${items.join(',')}]}`
  await t.test('with_properties adds the properties given at creation to the end of each item', (t) =>
    answers(t, post, [
      ['fetch', { path: 'f', with_properties: true }, '{"path":"f","type":"json","value":{"a":1},"properties":{}}'],
      ['fetch', { path: 'f/p', type: 'string', with_properties: true }, p],
      [
        'fetch',
        { path: 'f/q', with_properties: true },
        '{"path":"f/q","type":"json","properties":{"DONT_RETAIN_VALUE":"true"}}',
      ],
      ['fetch', { selector: '*f//', type: 'string', with_properties: true }, page(p, r)],
      ['fetch', { path: 'f', with_properties: false }, plain],
    ]),
  )

  await t.test('with_version adds the version and time of the last change after the type', async (t) => {
    const members = /,"version":(\d+),"updated":"([^"]+)"/g
    const of = (body: object) => post('fetch', { type: 'any', with_version: true, ...body })
    const versions: number[] = []
    for (const more of [
      { path: 'f' },
      { path: 'f/p', with_properties: true },
      { path: 'f/q' },
      { path: 'f/r', with_values: false },
      { selector: '*f//' },
      { selector: '?f/[pq]//' },
      { selector: '*f//', with_properties: true },
      { selector: '*f//', with_values: false },
      { selector: '?f/[pq]//', type: 'json', with_values: false },
      { selector: '*f//', type: 'string' },
      { selector: '*f//', deep_branch_depth: 2, deep_branch_limit: 1 },
      { selector: '*f//', size: 2 },
    ]) {
      const [shown, plain] = [await of(more), await of({ ...more, with_version: false })]
      t.equal(shown.text.replaceAll(members, ''), plain.text, `${JSON.stringify(more)} shows nothing else`)
      t.notMatch(plain.text, /"version"/, 'no version is shown otherwise')
      const found = [...shown.text.matchAll(members)]
      t.equal(found.length, plain.text.split('"type":').length - 1, 'each item has a version')
      t.match(shown.text, /"type":"(json|string)","version":\d+,"updated":"[^"]+Z"[,}]/, 'after the type')
      for (const [, version, updated] of found) {
        versions.push(Number(version))
        t.equal(updated, new Date(Math.floor(Number(version) / 1024)).toISOString(), 'the time in the version')
        t.ok(Math.abs(Date.parse(updated ?? '') - Date.now()) < 600_000, 'the version is recent')
      }
    }
    t.equal(new Set(versions.slice(4, 8)).size, new Set(versions.slice(0, 4)).size, "a page shows its topics' versions")
    t.strictSame(versions.slice(4, 8), versions.slice(0, 4), 'in the order of the page')
    await post('set', { path: 'f/q', value: 1 })
    const [[, later] = []] = (await of({ path: 'f/q' })).text.matchAll(members)
    t.ok(Number(later) > (versions[2] ?? 0), 'setting a value that is not retained changes the version')
  })

  await t.test('`with_values: false` omits the values', (t) =>
    answers(t, post, [
      ['fetch', { path: 'f', with_values: false }, '{"path":"f","type":"json"}'],
      [
        'fetch',
        { selector: '*f//', with_values: false },
        page('{"path":"f","type":"json"}', '{"path":"f/q","type":"json"}'),
      ],
      [
        'fetch',
        { path: 'f/p', type: 'string', with_values: false, with_properties: true },
        `{"path":"f/p","type":"string",${shown}}`,
      ],
      ['fetch', { path: 'f', with_values: true }, plain],
    ]),
  )

  const string = '{"path":"f/p","type":"string","value":"x"}'
  const items = [plain, string, '{"path":"f/q","type":"json"}', '{"path":"f/r","type":"string"}']
  await t.test('type any returns topics of both types in tree order, each with its own type', (t) =>
    answers(t, post, [
      ['fetch', { selector: '*f//', type: 'any' }, page(...items)],
      ...[1, 2, 3].map((size): Row => {
        const results = `{"has_more":${size < 3},"results":[${items.slice(1, 1 + size)}]}`
        return ['fetch', { selector: '*f//', type: 'any', size, after: 'f' }, results]
      }),
      ['fetch', { path: 'f/p', type: 'any' }, string],
      ['fetch', { path: 'f', type: 'any' }, plain],
      ['fetch', { path: 'f/none', type: 'any' }, 'no_such_topic', '"f/none"'],
    ]),
  )

  const flags = ['with_values', 'with_properties', 'with_version']
  const any = 'must be "any", "json" or "string"'
  await t.test('the error for a non-boolean flag names it, and that for an invalid type lists the allowed types', (t) =>
    answers(t, post, [
      ...flags.flatMap((name) =>
        [1, 'true', null, []].flatMap((value): Row[] => [
          ['fetch', { path: 'f', [name]: value }, 'invalid_parameter', `"${name}"`, 'true or false'],
          ['fetch', { selector: '*f//', [name]: value }, 'invalid_parameter', `"${name}"`, 'true or false'],
        ]),
      ),
      ['fetch', { path: 'f', type: 'all' }, 'invalid_parameter', any],
      ...['set', 'addAndSet'].map((route): Row => {
        return [route, { path: 'f', type: 'any', value: 1 }, 'invalid_parameter', 'must be "json" or "string"']
      }),
      ['add', { path: 'f', type: 'any' }, 'invalid_parameter', 'must be "json" or "string"'],
      ['fetch', { path: 'f', type: 'string', with_properties: true }, 'incompatible_type', '"f"', 'json'],
    ]),
  )
}
