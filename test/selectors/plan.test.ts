/**
 * Plans: the key ranges of each selector, and whether it needs a matcher. Keys are written with / for the separator and <01> or
 * <c3> for other bytes that are not printable ASCII.
 */

import t, { type Test } from 'tap'
import type { Plan } from '../../dist/selectors/plan.js'
import { planSelector } from '../../dist/selectors/planner.js'
import { keyBytesMax, pathBytesMax } from '../../dist/settings/limits.js'
import { endlessSlice } from '../support/slices.js'
import { planned } from '../support/stores/store.js'

const everything = '<01> … <ff>'

function readable(key: Buffer): string {
  let spelt = ''
  for (const byte of key) {
    if (byte === 0) spelt += '/'
    else spelt += byte < 0x20 || byte > 0x7e ? `<${byte.toString(16).padStart(2, '0')}>` : String.fromCharCode(byte)
  }
  return spelt
}

function outline({ ranges, matcher }: Plan): readonly string[] {
  const spelt = ranges.map(({ start, end }) => `${readable(start)} … ${readable(end)}`)
  return matcher === undefined ? spelt : [...spelt, 'matcher']
}

function check(t: Pick<Test, 'same'>, plans: Readonly<Record<string, readonly string[]>>): void {
  for (const [text, expected] of Object.entries(plans)) t.same(outline(planned(text)), expected, text)
}

t.test('a path selector is planned as a range of one key', async (t) => {
  check(t, { a: ['a … a/'], 'a/b': ['a/b … a/b/'], '>/a/b/': ['a/b … a/b/'], é: ['<c3><a9> … <c3><a9>/'] })
})

t.test('a literal path or subtree needs only ranges and no matcher, in every form', async (t) => {
  const subtrees = ['?a/b//', '*a/b//', '*/a/b//', '?\\Qa/b\\E//', '?a/(b)//', '?^a$/b//', '?[a]/b//', '?\\x61/b//']
  for (const text of subtrees) t.same(outline(planned(text)), ['a/b … a/b<01>'], text)
  check(t, {
    '*\\Qa/b\\E//': ['\\Qa/b\\E … \\Qa/b\\E<01>', 'a/b … a/b<01>'],
    '*^a/b$//': ['^a/b$ … ^a/b$<01>', 'a/b … a/b<01>'],
  })
  check(t, { '?a/b/': ['a/b/ … a/b<01>'], '*a/b/': ['a/b/ … a/b<01>'], '?a/b': ['a/b … a/b/'], '*a/b': ['a/b … a/b/'] })
})

t.test('patterns that accept every continuation need only ranges and no matcher', async (t) => {
  check(t, {
    '?.*//': [everything],
    '*.*': [everything],
    '?a/.*//': ['a/ … a<01>'],
    '?a/b.*//': ['a/b … a/c'],
    '*a.+': ['a/ … b'],
    '*a/b.*//': ['a/b … a/c'],
    '*é.*': ['<c3><a9> … <c3><aa>'],
  })
})

t.test('a few alternatives become a few ranges', async (t) => {
  check(t, {
    '?a/(b|c)//': ['a/b … a/b<01>', 'a/c … a/c<01>'],
    '?(a|b)/(c|d)': ['a/c … a/c/', 'a/d … a/d/', 'b/c … b/c/', 'b/d … b/d/'],
    '?a/[b-d]//': ['a/b … a/b<01>', 'a/c … a/c<01>', 'a/d … a/d<01>'],
    '?(a|b)/.*/c': ['a/ … a<01>', 'b/ … b<01>', 'matcher'],
    '?a/(b.*|c)//': ['a/b … a/c<01>'],
    '*(a|b)/.*//': ['(a|b)/.* … (a|b)/.*<01>', 'a/ … a<01>', 'b/ … b<01>'],
    '?(ab|a.*)//': ['a … b'],
    '?(b|b.*)//': ['b … c'],
    '?(b.+|b[^x]y)//': ['b … c', 'matcher'],
  })
})

t.test('too many alternatives limit the scan to their common prefix', async (t) => {
  check(t, { '?[a-z]{2}/x': ['a … {', 'matcher'], '?.[a-z]/x': [everything, 'matcher'] })
})

t.test('a literal prefix limits the range that is scanned, in every form of selector', async (t) => {
  check(t, {
    '*a.b//': ['a … b', 'matcher'],
    '*a/b[0-9]+/c//': ['a/b0 … a/b:', 'a/b[0-9]+/c … a/b[0-9]+/c<01>', 'matcher'],
    '*x|a.//': ['a … b', 'x … x<01>', 'x|a. … x|a.<01>', 'matcher'],
    '*(?i)a': [everything, 'matcher'],
    '*a/(?i)b': ['a/ … a<01>', 'matcher'],
    '*a.*/': ['a … b', 'matcher'],
    '?a/.*': ['a/ … a<01>', 'matcher'],
    '?a/.*/temp': ['a/ … a<01>', 'matcher'],
    '?a/b/\\w+//': ['a/b/0 … a/b/:', 'a/b/A … a/b/[', 'a/b/_ … a/b/`', 'a/b/a … a/b/{', 'matcher'],
  })
})

t.test('a set merges overlapping ranges and needs a matcher only if they are not exact', async (t) => {
  check(t, {
    '#a////b': ['a … a/', 'b … b/'],
    '#b////a////b': ['a … a/', 'b … b/'],
    '#?a//////a/b////*a/c': ['a … a<01>'],
    '#?a/.*/temp////*.*': [everything],
    '#?a/.*/x////?b//': ['a/ … a<01>', 'b … b<01>', 'matcher'],
  })
})

t.test('a pattern that matches no path has no range', async (t) => {
  const nothing = ['?a\\x2fb', '?a\\x00', '?a\\x00.*//', '?a\\x2f.*//', '?()/a', '?a{0}/b', '?[^\\x00-\\x{10ffff}]']
  nothing.push(`?${'a'.repeat(pathBytesMax)}/b//`)
  for (const text of nothing) t.same(outline(planned(text)), [], text.slice(0, 30))
  check(t, { '*a/{2}b': [], '*\\x{d83d}\\x{de00}': [], '*a\\x00.*//': ['a\\x00.* … a\\x00.*<01>'] })
})

t.test('bounds and seeks are at most one byte longer than the longest key', async (t) => {
  const longest = `a/${'b'.repeat(pathBytesMax - 2)}`
  const beyond = `?a/.*/${'c'.repeat(pathBytesMax)}`
  const exact = [longest, `?${longest}//`, `*${longest}/`]
  for (const text of [...exact, `?${longest}/.*`, `?${longest}.*//`, `*${longest}.*`, beyond]) {
    for (const { start, end } of planned(text).ranges) {
      const name = `${text.slice(0, 20)}…, ${text.length} long`
      t.ok(start.length <= keyBytesMax + 1 && end.length <= keyBytesMax + 1, name)
    }
  }
  const { matcher } = planned(`?a/.*/${'c'.repeat(100)}`)
  t.equal(matcher?.(`a/${'x'.repeat(pathBytesMax - 10)}`, endlessSlice), false, 'the matcher seeks no impossible key')
})

t.test('a matcher seeks the next key that can match', async (t) => {
  const seeks: readonly (readonly [string, string, string | boolean])[] = [
    ['?a/.*/temp', 'a/x', 'a/x/temp'],
    ['?a/.*/temp', 'a/x/hum/1', 'a/x/temp'],
    ['?a/.*/temp', 'a/x/temp', true],
    ['?a/.*/temp', 'a/x/temp/c', 'a/x<01>'],
    ['?a/.*', 'a/x/y', 'a/x<01>'],
    ['?a/.*/', 'a/x/y', true],
    ['?a/[^b]+/c', 'a/b/x', 'a/b<01>'],
    ['?a/b.+/', 'a/b/x', 'a/b<01>'],
    ['?a/.*/(b|d)/e', 'a/x/b/f', 'a/x/d'],
    ['?a/.*/(b|d)/e', 'a/x/d/f', 'a/x<01>'],
    ['#?a/.*/b////?a/.*/d', 'a/x/a', 'a/x/b'],
    ['#?a/.*/b////?c//', 'a/x/y', 'a/x<01>'],
    ['#?a/.*/b////*a.y', 'a/x/y', false],
  ]
  for (const [text, path, expected] of seeks) {
    const answer = planned(text).matcher?.(path, endlessSlice)
    t.equal(Buffer.isBuffer(answer) ? readable(answer) : answer, expected, `${text} at ${path}`)
  }
})

t.test('the same selector text gets the same plan', async (t) => {
  t.equal(planSelector('*a.b'), planSelector('*a.b'))
  t.equal(planSelector('*a//('), planSelector('*a//('))
})
