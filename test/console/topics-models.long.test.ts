/** The pure parts of the Topics page: words as selectors, files of matches, and the text of values and names. */
import { mock } from 'node:test'
import t from 'tap'
import type { Client } from '../../dist/client/index.js'
import { agoText, minutesAgoText, timeText, utcText } from '../../dist/console/shared/formats.js'
import { urlOf } from '../../dist/console/shared/listener.js'
import { LiveItems } from '../../dist/console/topics/live/live-items.js'
import { readMatches } from '../../dist/console/topics/search/matches-file.js'
import { selectorOfWords } from '../../dist/console/topics/search/words.js'
import { formattedOf, topicsText, valueIn, visible } from '../../dist/console/topics/value-text.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'

t.test('plain words become a selector for the paths that contain all the words', (t) => {
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

t.test('a download of matches stops at 100,000 topics, without the final line of a complete export', async (t) => {
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

t.test('each page links to the other page if the browser can reach it', (t) => {
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

t.test('a formatted value contains every character of the original value', (t) => {
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

t.test('an edited value loses only the white space between its tokens', (t) => {
  const large = `"${'\\n x'.repeat(200_000)}"`
  for (const [text, stored] of [
    [' { "a b" : [ 1.50 ,\n2 ] }\t', '{"a b":[1.50,2]}'],
    ['"a \\" b"\n', '"a \\" b"'],
    [`[ ${large} ]`, `[${large}]`],
  ] as const)
    t.match(valueIn('json', text), { text: stored })
  t.equal(valueIn('string', ' a\n'), ' a\n', 'plain text keeps all white space')
  t.throws(() => valueIn('json', '{"a":1 1}'), SyntaxError)
  t.end()
})

t.test('invisible characters in names are shown', (t) => {
  t.equal(visible('a\u202eb\u0000\u2028\u00ad'), 'a⟨U+202E⟩b⟨U+0000⟩⟨U+2028⟩⟨U+00AD⟩')
  t.equal(visible('  a b '), '␣␣a b␣')
  for (const plain of ['é', '👩‍🚀', 'می‌خواهم', 'a b']) t.equal(visible(plain), plain)
  t.strictSame([0, 1, 2, 1234].map(topicsText), ['0 topics', '1 topic', '2 topics', '1,234 topics'])
  t.end()
})

t.test('an age is shown in its largest unit', (t) => {
  const iso = new Date(0).toISOString()
  const ages = [-5000, 1999, 2000, 59_999, 60_000, 3_600_000, 172_800_000].map((ms) => agoText(iso, ms))
  t.strictSame(ages, ['just now', 'just now', '2 s ago', '59 s ago', '1 min ago', '1 h ago', '2 d ago'])
  t.strictSame(
    [59_999, 60_000].map((ms) => minutesAgoText(iso, ms)),
    ['in the last minute', '1 min ago'],
  )
  t.end()
})

t.test('a time includes its date unless it is today', (t) => {
  const now = new Date(2030, 0, 2, 3, 4, 5)
  t.equal(timeText(now.toISOString(), now), '03:04:05')
  t.equal(timeText(now.toISOString(), new Date(2030, 0, 3)), '2030-01-02 03:04:05')
  t.equal(utcText('2030-01-02T03:04:05.678Z'), '2030-01-02 03:04 UTC')
  t.end()
})

t.test('the first value below a newly shown topic is followed immediately, later values once a second', (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let nowMs = 0
  t.intercept(performance, 'now', { value: () => nowMs })
  let follows = 0
  const follow = () => {
    follows++
    return Object.assign(new EventTarget(), { close: () => {}, topics: new Map() })
  }
  const items = new LiveItems({ follow } as unknown as Client, new AbortController().signal, (error) => t.error(error))
  const followsAfter = (ms: number, ...paths: readonly string[]): number => {
    items.show(paths)
    mock.timers.tick(ms)
    nowMs += ms
    return follows
  }
  for (const a of ['a', 'b']) {
    const before = follows
    t.equal(followsAfter(1, a), before + 1)
    t.equal(followsAfter(1, a, `${a}/1`), before + 2)
    t.equal(followsAfter(900, a, `${a}/1`, `${a}/2`), before + 2)
    t.equal(followsAfter(100, a, `${a}/1`, `${a}/2`), before + 3)
  }
  t.end()
})
