/**
 * Random selectors, each with a naive reference for what it matches: JavaScript's RegExp, anchored to whole segments or
 * paths. Patterns are made of harmless pieces that have the same meaning in both engines, and paths of a few names, so
 * that selectors match something.
 */

import type { Scope } from '../../../dist/selectors/scope.js'
import { parsePath } from '../../../dist/topics/path.js'
import { at } from '../elements.js'
import type { Random } from '../random.js'

/** Pieces of patterns: as written in a selector, and as written for RegExp. */
const pieces: readonly (readonly [string, string])[] = [
  ['a', 'a'],
  ['b', 'b'],
  ['\\+', '\\+'],
  ['\\.', '\\.'],
  ['-', '-'],
  ['é', 'é'],
  ['.', '.'],
  ['.*', '.*'],
  ['.+', '.+'],
  ['[ab]', '[ab]'],
  ['[^a]', '[^a]'],
  ['[+-.]+', '[+-.]+'],
  ['a?', 'a?'],
  ['b{2}', 'b{2}'],
  ['a{1,2}', 'a{1,2}'],
  ['(a|b)', '(a|b)'],
  ['(?:a|ab|é.*)', '(?:a|ab|é.*)'],
  ['(?i:A)', '[aA]'],
  ['\\Q+.\\E', '\\+\\.'],
  ['\\w', '[0-9A-Za-z_]'],
  ['(😀|\ue000)', '(😀|\ue000)'],
]
const wholePathPieces: typeof pieces = ['/', '/', '/.*', 'a/b', '|b'].map((piece) => [piece, piece] as const)
const names = [
  'a',
  'b',
  'aa',
  'ab',
  'ba',
  'bb',
  '+',
  '.',
  '-',
  '!',
  'é',
  'a+',
  'a.',
  'a-b',
  'éa',
  '+.',
  'A',
  '😀',
  '\ue000',
  '\n',
]

/** Whether a path is a match. */
export type Reference = (path: string) => boolean

/** The paths whose match selects `path`: itself, its ancestors or both, according to the scope. */
function candidates(path: string, scope: Scope): string[] {
  const parts = path.split('/')
  const ancestors = parts.slice(1).map((_, i) => parts.slice(0, i + 1).join('/'))
  return scope === 'self' ? [path] : scope === 'descendants' ? ancestors : [...ancestors, path]
}

/** A path of a few segments, now and then of many. */
export function randomPath(random: Random): string {
  const depth = 1 + random.below(random.oneIn(20) ? 12 : 4)
  return Array.from({ length: depth }, () => random.pick(names)).join('/')
}

/** A random selector of any kind; a member of a set is not a set itself. */
export function randomSelector(random: Random, inSet = false): { readonly text: string; readonly matches: Reference } {
  const randomPattern = (extra: readonly (readonly [string, string])[], piecesMax: number) => {
    const chosen = Array.from({ length: 1 + random.below(piecesMax) }, () => random.pick([...pieces, ...extra]))
    return { text: chosen.map(([text]) => text).join(''), js: chosen.map(([, js]) => js).join('') }
  }
  const scope = random.pick<Scope>(['self', 'descendants', 'subtree'])
  const qualifier = { self: '', descendants: '/', subtree: '//' }[scope]
  const kind = random.below(inSet ? 5 : 6)
  if (kind === 0) {
    const path = Array.from({ length: 1 + random.below(3) }, () => random.pick(names)).join('/')
    return { text: `>${path}`, matches: (other) => other === path }
  }
  if (kind <= 2) {
    const segments = Array.from({ length: 1 + random.below(4) }, () => {
      const common = random.pick(['.*', '(a|b|é)', '', ''])
      return common === '' ? randomPattern([], 2) : { text: common, js: common }
    })
    const whole = segments.map(({ js }) => new RegExp(`^(?:${js})$`, 'su'))
    const fits = (path: string) => {
      const parts = path.split('/')
      return parts.length === whole.length && whole.every((segment, i) => segment.test(at(parts, i)))
    }
    const text = `?${segments.map((segment) => segment.text).join('/')}${qualifier}`
    return { text, matches: (path) => candidates(path, scope).some(fits) }
  }
  if (kind <= 4) {
    const { text, js } = randomPattern(wholePathPieces, 5)
    // Runs of slashes would be separators or qualifiers.
    const withoutRuns = (source: string) => source.replace(/\/+$/, '').replace(/\/{2,}/g, '/') || 'a'
    const body = withoutRuns(text)
    const whole = new RegExp(`^(?:${withoutRuns(js)})$`, 'su')
    const literal = parsePath(body)
    // Only with `//` does the pattern's text also match as a path.
    const fits = (path: string) => whole.test(path) || (scope === 'subtree' && path === literal)
    return { text: `*${body}${qualifier}`, matches: (path) => candidates(path, scope).some(fits) }
  }
  const members = Array.from({ length: 1 + random.below(4) }, () => randomSelector(random, true))
  return {
    text: `#${members.map(({ text }) => text).join('////')}`,
    matches: (path) => members.some((member) => member.matches(path)),
  }
}
