/** The pure parts of the page of the topics: the tree against a model, texts of values and names, commands. */

import t from 'tap'
import type { Client } from '../../dist/client/index.js'
import { urlOf } from '../../dist/console/shared/listener.js'
import { curlCommand } from '../../dist/console/topics/curl.js'
import { readMatches } from '../../dist/console/topics/search/matches-file.js'
import { selectorOfWords } from '../../dist/console/topics/search/words.js'
import { describeChild, listChildren } from '../../dist/console/topics/tree/children.js'
import { inOrder as inNameOrder } from '../../dist/console/topics/tree/name-order.js'
import { Tree } from '../../dist/console/topics/tree/tree.js'
import { formattedOf, timeText, topicsText, visible } from '../../dist/console/topics/value-text.js'
import { seededRandom } from '../support/random.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'

/** Paths in tree order: segment by segment, by bytes. */
function inOrder(paths: Iterable<string>): string[] {
  const key = (path: string): Buffer => Buffer.from(path.replaceAll('/', '\0'))
  return [...paths].sort((a, b) => Buffer.compare(key(a), key(b)))
}

/** Whether one of the selectors that the tree uses selects a path; of names without characters that have a meaning. */
function isWithin(path: string, selector: string): boolean {
  const top = selector.replaceAll(/^[?]|[/]+$/g, '')
  return top === '.*' || path.startsWith(`${top}/`) || (selector.endsWith('//') && path === top)
}

/** Answers pages as the service does, from a set of paths. */
function fakeClient(paths: ReadonlySet<string>): Client {
  const page = async (selector: string, options: Readonly<Record<string, number | string>>) => {
    const { deep_branch_depth: depth = 1, deep_branch_limit: limit = Infinity, size = 10, after } = options
    const seen = new Map<string, number>()
    const all = inOrder(paths).filter((path) => {
      if (!isWithin(path, selector)) return false
      const branch = path.split('/').slice(0, Number(depth)).join('/')
      const count = (seen.get(branch) ?? 0) + 1
      seen.set(branch, count)
      return count <= Number(limit)
    })
    const rest =
      after === undefined ? all : all.filter((path) => inOrder([path, String(after)])[1] === path && path !== after)
    return { has_more: rest.length > Number(size), results: rest.slice(0, Number(size)).map((path) => ({ path })) }
  }
  return { page } as unknown as Client
}

function treeOf(paths: ReadonlySet<string>, sizeMax: number): Tree {
  const client = fakeClient(paths)
  return new Tree(
    (parent, after) => listChildren(client, sizeMax, parent, after),
    (path) => describeChild(client, path),
  )
}

/** The children that there are at the top, as the tree should show them. */
function expected(paths: ReadonlySet<string>): { name: string; isTopic: boolean; hasChildren: boolean }[] {
  const names = new Set(inOrder(paths).map((path) => path.split('/')[0] ?? ''))
  return [...names].map((name) => ({
    name,
    isTopic: paths.has(name),
    hasChildren: [...paths].some((path) => path.startsWith(`${name}/`)),
  }))
}

t.test('pages of any size list every child once, with what it has', async (t) => {
  const random = seededRandom(t)
  for (const sizeMax of [1, 2, 3, 7, 100]) {
    const paths = new Set(
      Array.from({ length: 40 }, () => `n${random.below(30)}${['', '/x', '/x/y', '/z'][random.below(4)]}`),
    )
    const tree = treeOf(paths, sizeMax)
    await tree.open('')
    while (tree.level('')?.after !== undefined) await Promise.all([tree.more(''), tree.more('')])
    t.match(tree.level('')?.children, expected(paths), `pages of ${sizeMax}`)
    t.equal(tree.level('')?.children.length, expected(paths).length)
  }
})

t.test('a tree that is refreshed follows whatever is added and removed', async (t) => {
  const random = seededRandom(t)
  const path = (): string =>
    `${['é', 'n', '\uffee', '😀'][random.below(4)]}${random.below(60)}${random.below(3) === 0 ? '/x' : ''}`
  const paths = new Set(Array.from({ length: 80 }, path))
  const tree = treeOf(paths, 10)
  await tree.open('')
  while (tree.level('')?.after !== undefined) await tree.more('')
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 8; i++) {
      const changed = path()
      if (!paths.delete(changed)) paths.add(changed)
      await tree.refresh('')
      const names = (tree.level('')?.children ?? []).map(({ name }) => name)
      t.equal(new Set(names).size, names.length, 'no child twice')
      t.strictSame(names, inOrder(names), 'in tree order')
    }
    do await tree.refresh('')
    while (tree.level('')?.refreshedTo !== undefined)
    do await tree.refresh('')
    while (tree.level('')?.refreshedTo !== undefined)
    while (tree.level('')?.after !== undefined) await tree.more('')
    t.strictSame(
      tree.level('')?.children.map(({ name }) => name),
      expected(paths).map(({ name }) => name),
    )
  }
})

t.test('a child beyond what is listed stands apart, until it is listed or gone', async (t) => {
  const paths = new Set([...Array.from({ length: 30 }, (_, i) => `n${10 + i}`), 'n25/x/y', 'n30/x'])
  paths.delete('n25')
  const tree = treeOf(paths, 7)
  await tree.reveal('n25/x/y')
  const top = tree.level('')
  t.match(top?.apart, { path: 'n25', isTopic: false, hasChildren: true })
  t.ok(tree.hasBelow('n25'))
  t.match(tree.level('n25/x')?.children, [{ path: 'n25/x/y' }])
  await tree.reveal('n11')
  t.match(top?.apart, { path: 'n25' }, 'one that is listed needs no other place')
  await tree.reveal('n30')
  t.match(top?.apart, { path: 'n30', isTopic: true, hasChildren: true })
  await tree.reveal('none')
  t.match(top?.apart, { path: 'n30' }, 'what is not there is not shown')

  await tree.open('n30')
  for (const path of ['n30', 'n30/x']) paths.delete(path)
  for (let i = 0; i < 3; i++) await tree.refresh('')
  t.equal(top?.apart, undefined, 'a refresh finds that it has gone')
  t.notOk(tree.openParents().includes('n30'), 'with what was below it')

  await tree.reveal('n25/x/y')
  while (top?.after !== undefined && top.apart !== undefined) await tree.more('')
  t.ok(top?.children.some(({ path }) => path === 'n25'))
  t.ok(tree.level('n25/x'), 'what was open stays open')
})

t.test('a level that cannot be listed is tried again, and one that was closed is forgotten', async (t) => {
  let isAway = true
  const a = { path: 'a', name: 'a', isTopic: false, hasChildren: true }
  const never = () => Promise.reject(new Error('all are listed'))
  const tree = new Tree(async () => {
    if (isAway) throw new Error('away')
    return { children: [a], after: undefined }
  }, never)
  await t.rejects(tree.open(''))
  t.strictSame(tree.openParents(), [''])
  isAway = false
  await tree.refresh('')
  t.equal(tree.level('')?.children.length, 1)
  await Promise.all([tree.open('a'), tree.open('a')])
  await tree.open('a/b')
  tree.close('a')
  t.strictSame(tree.openParents(), [''])
})

t.test('names in natural order: numbers as numbers, and every name still there', (t) => {
  const children = ['Sensor-3', 'a', 'sensor-1', 'sensor-02', 'sensor-10', 'sensor-2', 'é', 'z'].map((name) => ({
    ...{ path: `p/${name}`, name, isTopic: true, hasChildren: false },
  }))
  const names = inNameOrder(children, 'natural').map(({ name }) => name)
  t.strictSame(names, ['a', 'é', 'sensor-1', 'sensor-02', 'sensor-2', 'Sensor-3', 'sensor-10', 'z'])
  t.equal(inNameOrder(children, 'tree'), children)
  t.end()
})

t.test('plain words become a selector for the paths that contain all of them', (t) => {
  const isFound = (words: string, path: string): boolean => {
    return planned(selectorOfWords(words) ?? '').matcher?.(path, endlessSlice) !== false
  }
  for (const [words, path, is] of [
    ['temp', 'plant/7/Temperature', true],
    ['TEMP', 'plant/7/temperature', true],
    ['temp', 'plant/7/tem/p', false],
    ['temp plant', 'plant/7/temp', true],
    ['temp plant 7', 'plant/7/temp', true],
    ['temp plant 8', 'plant/7/temp', false],
    ['temp plant', 'temp', false],
    ['a b c d', 'a/b/c/d', true],
    ['d c b a', 'a/b/c/d', false],
    ['temp temperature', 'x/temperature', true],
    ['temp Temp', 'x/temp', true],
    ['plant/7', 'a/plant/7/b', true],
    ['.*', 'a/b', false],
    ['a+(b)?[c]{2}|^$\\', 'x/A+(B)?[C]{2}|^$\\/y', true],
    ['\\Q x', 'a/\\q/x', true],
    ['\\E //', 'a\\E', false],
    ['é', 'caf\u00c9', true],
    ['line', 'a\nline', true],
  ] as const) {
    t.equal(isFound(words, path), is, `${words} in ${path}: ${selectorOfWords(words)}`)
  }
  t.equal(selectorOfWords('  '), undefined)
  t.equal(selectorOfWords(' a.b '), '*(?i).*a\\.b.*')
  for (const count of [1, 2, 3, 20])
    t.ok(isFound('abcdefghijklmnopqrst '.repeat(count), 'abcdefghijklmnopqrst'), `${count} words are not too many`)
  for (const count of [2, 3, 4, 20]) {
    const words = Array.from({ length: count }, (_, i) => `word-${i}-sensor`)
    t.ok(isFound(words.join(' '), words.join('/')), `${count} words`)
  }
  t.end()
})

t.test('matches as a file are the lines of an export, to the last digit', async (t) => {
  const items = [
    { path: 'a/"b"', type: 'json', properties: { REMOVAL: 'never' }, text: '{"n":1.50}' },
    { path: 'empty', type: 'string', properties: {}, text: undefined },
  ]
  const client = {
    walk: async function* () {
      yield* items
    },
  } as unknown as Client
  const options = { size: 1, signal: new AbortController().signal, onProgress: () => {} }
  t.strictSame(await readMatches(client, '?.*//', options), {
    lines: [
      '{"path":"a/\\"b\\"","type":"json","properties":{"REMOVAL":"never"},"value":{"n":1.50}}\n',
      '{"path":"empty","type":"string","properties":{}}\n',
      '{"end":{"topics":2,"keys":0}}\n',
    ],
    topics: 2,
    isWhole: true,
  })
  const endless = {
    walk: async function* () {
      while (true) yield* items
    },
  } as unknown as Client
  const cut = await readMatches(endless, '?.*//', { ...options, size: 1000 })
  t.match(
    { ...cut, lines: cut.lines.length },
    { lines: 100_000, topics: 100_000, isWhole: false },
    'without the last line',
  )
  t.notMatch(cut.lines.at(-1), /"end"/)
})

t.test('the other page is linked where this browser can reach it', (t) => {
  const at = (host: string) => ({ scheme: 'http' as const, host, port: 1, path: '/x' })
  for (const [host, own, url] of [
    ['127.0.0.1', 'localhost', 'http://127.0.0.1:1/x'],
    ['::1', '127.0.0.1', 'http://[::1]:1/x'],
    ['localhost', '[::1]', 'http://localhost:1/x'],
    ['127.0.0.1', 'topics.example', undefined],
    ['0.0.0.0', 'topics.example', 'http://topics.example:1/x'],
    ['::', '[2001:db8::1]', 'http://[2001:db8::1]:1/x'],
    ['10.0.0.7', 'topics.example', 'http://10.0.0.7:1/x'],
    ['2001:db8::1', 'localhost', 'http://[2001:db8::1]:1/x'],
  ] as const) {
    t.equal(urlOf(at(host), own), url, `${host} from ${own}`)
  }
  t.end()
})

t.test('a formatted value has every character of the value', (t) => {
  const texts = [
    '{"a":1.50,"a":[],"b":{},"c":[1,[2,{"d":"x, {y}: [z]"}]],"e":"\\"\\\\"}',
    '[]',
    '{}',
    '"a b"',
    '1e999',
    '[[],[[]],{"":{}}]',
    ' [ 1 , 2 ] ',
  ]
  for (const text of texts) {
    const shown = formattedOf({ text }) ?? ''
    t.equal(shown.replace(/\s/g, ''), text.replace(/\s/g, ''), text)
    t.strictSame(JSON.parse(shown), JSON.parse(text))
  }
  t.equal(formattedOf({ text: '{"a":[1,{}],"b":[]}' }), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}')
  t.equal(formattedOf({ text: `"${'x'.repeat(200_000)}"` }), undefined, 'too large')
  t.equal(
    formattedOf({ text: `${'['.repeat(900)}${'1,'.repeat(50_000)}1${']'.repeat(900)}` }),
    undefined,
    'would become too large',
  )
  t.end()
})

t.test('names show what cannot be seen', (t) => {
  t.equal(visible('a\u202eb\u0000\u2028\u00ad'), 'a⟨U+202E⟩b⟨U+0000⟩⟨U+2028⟩⟨U+00AD⟩')
  t.equal(visible('  a b '), '␣␣a b␣')
  for (const plain of ['é', '👩‍🚀', 'می‌خواهم', 'a b']) t.equal(visible(plain), plain)
  t.strictSame([0, 1, 2, 1234].map(topicsText), ['0 topics', '1 topic', '2 topics', '1,234 topics'])
  t.end()
})

t.test('a time has its date unless it is of today', (t) => {
  const now = new Date(2030, 0, 2, 3, 4, 5)
  t.equal(timeText(now.toISOString(), now), '03:04:05')
  t.equal(timeText(now.toISOString(), new Date(2030, 0, 3)), '2030-01-02 03:04:05')
  t.end()
})

t.test('a command is one for any shell, without the key', (t) => {
  const command = curlCommand('http://h:1/x', 'fetch', `{"path":"it's $HOME \`x\`"}`)
  t.match(command, `'http://h:1/x/topics/fetch'`)
  t.match(command, `--data-binary '{"path":"it'\\''s $HOME \`x\`"}'`)
  t.match(command, '"authorization: Apikey $KEY"')
  t.end()
})
