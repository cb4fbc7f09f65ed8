/** The pure parts of the page of the topics: the tree against a model, words as selectors, texts of values and names. */
import t from 'tap'
import type { Client } from '../../dist/client/index.js'
import { urlOf } from '../../dist/console/shared/listener.js'
import { readMatches } from '../../dist/console/topics/search/matches-file.js'
import { selectorOfWords } from '../../dist/console/topics/search/words.js'
import { describeChild, listChildren } from '../../dist/console/topics/tree/children.js'
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

t.test('a refreshed tree follows random additions and removals', async (t) => {
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

t.test('plain words become a selector for the paths that contain all of them', (t) => {
  const isFound = (words: string, path: string): boolean =>
    planned(selectorOfWords(words) ?? '').matcher?.(path, endlessSlice) !== false
  for (const [words, path, is] of [
    ['TEMP', 'plant/7/Temperature', true],
    ['temp', 'plant/7/tem/p', false],
    ['temp plant 7', 'plant/7/temp', true],
    ['temp plant 8', 'plant/7/temp', false],
    ['a b c d', 'a/b/c/d', true],
    ['d c b a', 'a/b/c/d', false],
    ['temp Temp', 'x/temp', true],
    ['a+(b)?[c]{2}|^$\\', 'x/A+(B)?[C]{2}|^$\\/y', true],
    ['\\Q x', 'a/\\q/x', true],
    ['\\E //', 'a\\E', false],
    ['é', 'caf\u00c9', true],
    ['line', 'a\nline', true],
    ['abcdefghijklmnopqrst '.repeat(20), 'abcdefghijklmnopqrst', true],
    ...[2, 3, 4, 20].map((count) => {
      const words = Array.from({ length: count }, (_, i) => `word-${i}-sensor`)
      return [words.join(' '), words.join('/'), true] as const
    }),
  ] as const) {
    t.equal(isFound(words, path), is, `${words} in ${path}: ${selectorOfWords(words)}`)
  }
  t.equal(selectorOfWords('  '), undefined)
  t.end()
})

t.test('a file of matches is cut at 100,000 topics, without its last line', async (t) => {
  const client = {
    walk: async function* () {
      while (true) yield { path: 'a', type: 'json', properties: {}, text: '1' }
    },
  } as unknown as Client
  const options = { size: 1000, signal: new AbortController().signal, onProgress: () => {} }
  const { lines, ...cut } = await readMatches(client, '?.*//', options)
  t.match({ ...cut, lines: lines.length }, { lines: 100_000, topics: 100_000, isWhole: false })
  t.notMatch(lines.at(-1), /"end"/)
})

t.test('a page links the other where this browser can reach it', (t) => {
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
  for (const text of [
    '{"a":1.50,"a":[],"b":{},"c":[1,[2,{"d":"x, {y}: [z]"}]],"e":"\\"\\\\"}',
    '1e999',
    '[[],[[]],{"":{}}]',
    ' [ 1 , 2 ] ',
  ]) {
    const shown = formattedOf({ text }) ?? ''
    t.equal(shown.replace(/\s/g, ''), text.replace(/\s/g, ''), text)
    t.strictSame(JSON.parse(shown), JSON.parse(text))
  }
  t.equal(formattedOf({ text: '{"a":[1,{}],"b":[]}' }), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}')
  const deep = `${'['.repeat(900)}${'1,'.repeat(50_000)}1${']'.repeat(900)}`
  t.strictSame(
    [`"${'x'.repeat(200_000)}"`, deep].map((text) => formattedOf({ text })),
    [undefined, undefined],
    'too large',
  )
  t.end()
})

t.test('names show characters that cannot be seen', (t) => {
  t.equal(visible('a\u202eb\u0000\u2028\u00ad'), 'a⟨U+202E⟩b⟨U+0000⟩⟨U+2028⟩⟨U+00AD⟩')
  t.equal(visible('  a b '), '␣␣a b␣')
  for (const plain of ['é', '👩‍🚀', 'می‌خواهم', 'a b']) t.equal(visible(plain), plain)
  t.strictSame([0, 1, 2, 1234].map(topicsText), ['0 topics', '1 topic', '2 topics', '1,234 topics'])
  t.end()
})

t.test('a time has its date unless it is today', (t) => {
  const now = new Date(2030, 0, 2, 3, 4, 5)
  t.equal(timeText(now.toISOString(), now), '03:04:05')
  t.equal(timeText(now.toISOString(), new Date(2030, 0, 3)), '2030-01-02 03:04:05')
  t.end()
})
