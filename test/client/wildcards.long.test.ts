/**
 * Patterns of MQTT, globs and LIKE, translated into selectors: the table of docs/selectors.md, and random patterns through
 * `selectorFor`, compared with a simple matcher for each notation.
 */

import t from 'tap'
import { connect, selectorFor } from '../../dist/client/index.js'
import { readDocument } from '../support/documents.js'
import { type Random, seededRandom } from '../support/random.js'
import { startServer } from '../support/service/server.js'
import { isSelected } from '../support/stores/store.js'

type Matcher = (pattern: string, path: string) => boolean

/** Whether the parts of a pattern match all of the items, part by part. */
function matchAll<Item>(
  parts: readonly string[],
  items: readonly Item[],
  /** The possible numbers of items that a part can take. */
  takes: (part: string, items: readonly Item[]) => readonly number[],
): boolean {
  const [part, ...others] = parts
  if (part === undefined) return items.length === 0
  return takes(part, items).some((count) => matchAll(others, items.slice(count), takes))
}

/** Every count from zero to all items. */
const anyCount = (items: readonly unknown[]): number[] => Array.from({ length: items.length + 1 }, (_, count) => count)

const one = (isTaken: boolean): number[] => (isTaken ? [1] : [])

const mqtt: Matcher = (pattern, path) =>
  matchAll(pattern.split('/'), path.split('/'), (part, levels) => {
    if (part === '#') return [levels.length]
    return one(levels.length > 0 && (part === '+' || part === levels[0]))
  })

const inSegment: Matcher = (pattern, segment) =>
  matchAll([...pattern], [...segment], (part, characters) => {
    if (part === '*') return anyCount(characters)
    return one(characters.length > 0 && (part === '?' || part === characters[0]))
  })

/** `**` matches any number of segments, but at the end at least one. */
const glob: Matcher = (pattern, path) => {
  const parts = pattern.split('/').map((part, index, all) => (part === '**' && index === all.length - 1 ? 'end' : part))
  return matchAll(parts, path.split('/'), (part, segments) => {
    if (part === 'end') return segments.length > 0 ? [segments.length] : []
    if (part === '**') return anyCount(segments)
    return one(segments.length > 0 && inSegment(part, segments[0] as string))
  })
}

const like: Matcher = (pattern, path) =>
  matchAll([...pattern], [...path], (part, characters) => {
    if (part === '%') return anyCount(characters)
    return one(characters.length > 0 && (part === '_' || part === characters[0]))
  })

const matchers: Readonly<Record<string, Matcher>> = { MQTT: mqtt, glob, 'SQL `LIKE`': like }

/** Every path of up to four segments, the first of which is one of `tops`. */
function pathsOf(tops: readonly string[], segments: readonly string[]): readonly string[] {
  const levels = [tops]
  for (let depth = 1; depth < 4; depth++)
    levels.push((levels[depth - 1] ?? []).flatMap((path) => segments.map((segment) => `${path}/${segment}`)))
  return levels.flat()
}

/** The paths that the service selects. */
const selected = (selector: string, paths: readonly string[]): readonly string[] =>
  paths.filter((path) => isSelected(selector, path))

t.test('each selector in the table of docs/selectors.md selects the paths that its wildcard pattern matches', (t) => {
  const paths = pathsOf(['plant', 'temp'], ['7', '8', 'temp', 'temp2', 'sensor1', 'sensor12', 'x'])
  const rows = [...readDocument('docs/selectors.md').matchAll(/^\| (MQTT|glob|SQL `LIKE`) \| `(.+?)` \| `(.+?)` \|/gm)]
  for (const notation of Object.keys(matchers)) t.ok(rows.filter(([, of]) => of === notation).length > 3, notation)
  for (const [, notation = '', pattern = '', selector = ''] of rows) {
    const expected = paths.filter((path) => matchers[notation]?.(pattern, path))
    t.ok(expected.length > 0, `${pattern} has matches`)
    t.strictSame(selected(selector, paths), expected, `${notation} ${pattern}`)
    t.equal(selectorFor(pattern), selector, `the client proposes the selector for ${pattern}`)
  }
  t.end()
})

const pieces: Readonly<Record<string, readonly string[]>> = {
  MQTT: ['+', '+', 'a', 'b.c', 'a+', 'é', '$', '$a', '&<', '(a|b)', '[b]', '{a}', 'b\\c', '^', 'a*', '?', '%'],
  glob: ['*', '**', 'a', 'a*', '*.c', '?', '?.c', 'b*c', 'é?', '+a'],
  'SQL `LIKE`': ['%', 'a', '%c', 'a_', '_', 'b.c', 'é%', 'a+'],
}

/** A random pattern whose first character does not make it a selector. */
function randomPattern(random: Random, notation: string): string {
  const parts = Array.from({ length: 1 + random.below(4) }, () => random.pick(pieces[notation] ?? []))
  // Without an MQTT wildcard, the pattern may be one in another notation.
  if (notation === 'MQTT' && (random.oneIn(3) || !parts.includes('+'))) parts.push('#')
  return parts.join('/')
}

t.test('the selector for a random wildcard pattern selects the paths that the pattern matches', (t) => {
  const random = seededRandom(t)
  const plain = pathsOf(['a', '+', 'é'], ['a', 'aa', 'b.c', 'bxc', '.c', 'é', '😀', '\n'])
  const strange = ['$', '$a', '&<', '(a|b)', '[b]', '{a}', 'b\\c', '^', 'a*', '?', '%']
  const paths = [...plain, ...strange, ...[...strange, 'a'].flatMap((top) => strange.map((below) => `${top}/${below}`))]
  const tried = { MQTT: 0, glob: 0, 'SQL `LIKE`': 0 }
  for (let round = 0; round < 1_500; round++) {
    const notation = random.pick(Object.keys(tried) as (keyof typeof tried)[])
    const pattern = randomPattern(random, notation)
    const selector = selectorFor(pattern)
    if (selector === undefined) continue
    tried[notation]++
    const expected = paths.filter((path) => matchers[notation]?.(pattern, path))
    const found = selected(selector, paths)
    if (String(found) !== String(expected)) t.fail(`${notation} ${pattern}, ${selector}: ${found}, not ${expected}`)
  }
  for (const [notation, count] of Object.entries(tried)) t.ok(count > 200, `${notation}: ${count} patterns`)
  t.end()
})

t.test('no selector is suggested for text that is not an MQTT, glob or LIKE pattern', (t) => {
  for (const text of [
    ...['', '/', 'a', 'a/b', 'a/b.c', 'c++', 'a/#b', 'a/#/b', 'a/b+', '50%off', 'a%2Fb', 'a_b'],
    ...['>a/#', '>a/*', '?a/.*', '?a/+', '*a*', '*.*', '*.json', '#a////b', '#/a', '$a/%', '&/*', '<*'],
    ...['a//#', '//#', 'a/[ab]*', 'a/{b,c}/*', 'a/(b|c)*', 'a\\%/%', '^a*'],
  ])
    t.equal(selectorFor(text), undefined, text)
  for (const [text, selector] of [
    ['/plant/+/', '?plant/.*'],
    ['plant/.*', '?plant/.*'],
    ['plant/[0-9]+', undefined],
    ['**', '?.*//'],
    ['**/**', '?.*//'],
    ['*', '?.*'],
    ['%', '*.*'],
    ['a.b/#', '?a\\.b//'],
    ['$a/b', undefined],
  ] as const)
    t.equal(selectorFor(text), selector, text)
  t.end()
})

t.test('a wildcard that the service rejects causes an error with a hint', async (t) => {
  const server = await startServer(t)
  const topics = connect(server.url, { key: server.token })
  for (const [selector, meant] of [
    ['#', '?.*//'],
    ['&a/+', '?&a/.*'],
    ['**/temp', '*(.*/)?temp'],
    ['%temp', '*.*temp'],
  ] as const) {
    const hint = `Wildcards are written differently in a selector; did you mean "${meant}"?`
    await t.rejects(topics.page(selector), { code: 'invalid_selector', hint }, selector)
    await t.rejects(topics.removeMatches(selector), { code: 'invalid_selector', hint }, selector)
  }
  await t.rejects(topics.page('?a('), { code: 'invalid_selector', hint: undefined })
  await t.rejects(topics.set('%temp', 1), { code: 'no_such_topic', hint: undefined })
})
