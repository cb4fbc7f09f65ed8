/**
 * Matches paths against selectors of common forms exactly as the service does: paths, and patterns of literal text,
 * `\Q…\E`, `.`, `.*`, `.+`, `[^/]*` and `[^/]+`. Every other selector is left to the service. If the service rejects a
 * selector, the result here is arbitrary.
 */
import { quoted } from '../selectors.js'

type Test = (path: string) => boolean

export interface Matches {
  /** The members of the selector, without nested sets. */
  readonly selectors: readonly string[]
  /** @param path a path as the service writes it */
  readonly test: Test
}

/** The scope of a pattern: the match, its descendants, or both. */
type Scope = 'self' | 'descendants' | 'subtree'

/** Maximum number of repetitions in a pattern; with more, a long path that does not match could take too long. */
const repetitionsMax = 2

/** Undefined if only the service can match this selector. */
export function matchesOf(selector: string): Matches | undefined {
  // The service rejects a NUL, and a lone surrogate cannot be sent.
  if (/[\0\p{Surrogate}]/u.test(selector)) return undefined
  const selectors = selector.startsWith('#') ? membersOf(selector.slice(1)) : [selector]
  const tests = selectors.map(testOf)
  if (!tests.every((test) => test !== undefined)) return undefined
  return { selectors, test: (path) => tests.some((test) => test(path)) }
}

/** The members of a set: in each run of slashes, the last four are the separator. A nested set is merged into the outer set. */
function membersOf(set: string): readonly string[] {
  return set.split(/\/{4}(?!\/)/).map((member) => member.replace(/^#+/, ''))
}

function testOf(member: string): Test | undefined {
  switch (member[0]) {
    case '?':
      return patternTest(member.slice(1), splitPathTest)
    case '*':
      return patternTest(member.slice(1), fullPathTest)
    case '>':
      return pathTest(member.slice(1))
    case undefined:
    case '#':
    case '$':
    case '%':
    case '&':
    case '<':
      return undefined
    default:
      return pathTest(member)
  }
}

function pathTest(text: string): Test | undefined {
  const path = pathIn(text)
  return path === undefined ? undefined : (other) => other === path
}

/** The path, with at most one slash removed at each end; undefined if the text is not a path. */
function pathIn(text: string): string | undefined {
  const path = text.replace(/^\//, '').replace(/\/$/, '')
  return path === '' || /^\/|\/\/|\/$/.test(path) ? undefined : path
}

function patternTest(text: string, read: (pattern: string, scope: Scope) => Test | undefined): Test | undefined {
  if (text.endsWith('//')) return read(text.slice(0, -2), 'subtree')
  return text.endsWith('/') ? read(text.slice(0, -1), 'descendants') : read(text, 'self')
}

/** Tests each segment with its own pattern, so that repetitions in different segments never multiply the time. */
function splitPathTest(pattern: string, scope: Scope): Test | undefined {
  const expressions = sourceOf(pattern.replace(/^\//, ''), '.')
    ?.split('/')
    .map((source) => expressionOf(source))
  if (!expressions?.every((expression) => expression !== undefined)) return undefined
  const { length } = expressions
  const least = scope === 'descendants' ? 1 : 0
  const most = scope === 'self' ? 0 : Number.POSITIVE_INFINITY
  return (path) => {
    const segments = path.split('/')
    const below = segments.length - length
    return (
      below >= least &&
      below <= most &&
      expressions.every((expression, index) => expression.test(segments[index] ?? ''))
    )
  }
}

/** Tests the whole path with one pattern. If the scope is `subtree`, the text also counts as a literal path. */
function fullPathTest(pattern: string, scope: Scope): Test | undefined {
  const source = sourceOf(pattern, '[^/]')
  const tail = { self: '', descendants: '/.+', subtree: '(?:/.+)?' }[scope]
  const expression = source === undefined ? undefined : expressionOf(source, tail)
  if (expression === undefined) return undefined
  const literal = scope === 'subtree' ? pathIn(pattern) : undefined
  if (literal === undefined) return (path) => expression.test(path)
  return (path) => path === literal || path.startsWith(`${literal}/`) || expression.test(path)
}

/** A quotation, an escaped character, a wildcard, or a literal character. A repetition matches only as part of a wildcard. */
const token =
  /\\Q(?<text>.*?)(?:\\E|$)|\\(?<escaped>[\\^$.*+?()[\]{}|])|(?<wildcard>(?:\.|\[\^\/\])[*+]?)|[^\\^$.*+?()[\]{}|]/suy

/** Undefined if the pattern is empty or contains anything other than tokens. @param notSlash the replacement for `[^/]` */
function sourceOf(pattern: string, notSlash: string): string | undefined {
  let source = ''
  token.lastIndex = 0
  while (token.lastIndex < pattern.length) {
    const found = token.exec(pattern)
    if (found === null) return undefined
    const { text, escaped, wildcard } = found.groups ?? {}
    source += wildcard?.replace('[^/]', notSlash) ?? quoted(text ?? escaped ?? found[0])
  }
  return source === '' ? undefined : source
}

/** Matches the whole text, as the service does; a dot matches any character. */
function expressionOf(source: string, tail = ''): RegExp | undefined {
  const repetitions = source.replace(/\\./gs, '').match(/[*+]/g)?.length ?? 0
  return repetitions > repetitionsMax ? undefined : new RegExp(`^(?:${source})${tail}$`, 'su')
}
