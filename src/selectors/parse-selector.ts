/**
 * Parses the text of a selector into a value of a closed union, or into a problem that gives the position of the wrong
 * character.
 *
 *     >path or path    that topic                                        no qualifier
 *     ?a/b/c           a pattern for each segment                        / or // at the end
 *     *pattern         one pattern for the whole path                    / or // at the end
 *     #one////two      any of these
 *
 * `*P//` also selects the literal path P and its descendants. This form works for the subtree of any path, even if the
 * path is not a valid pattern. `*P` and `*P/` are patterns only, so a mistyped pattern is not silently read as a path.
 *
 * A qualifier is first cut from the end of the text: `/` selects only the descendants of the matches, `//` also the
 * matches themselves. A path has no qualifier: one trailing slash is dropped. `//` after a path is rejected, because a walk or a
 * removal meant for the subtree must not silently cover only one topic. In a set, the LAST four of a run of slashes are
 * the separator, so that a member's qualifier can precede them. A set within a set is flattened. A `?` pattern is split at every
 * slash, even within `\Q…\E`, which continues to quote in the next segment; no class or group can span a slash.
 */
import {
  enginesSizeMax,
  linearSizeMax,
  selectorBytesMax,
  selectorEnginesMax,
  selectorSizeMax,
} from '../settings/limits.js'
import { type Path, parsePath } from '../topics/path.js'
import { type Budget, type Pattern, readPattern } from './pattern/pattern.js'
import type { SyntaxProblem } from './pattern/syntax.js'
import { memberCost, type PlanningBudget, textUnitCost } from './planning-budget.js'
import type { Scope } from './scope.js'

/** With the scope `subtree`, a valid path is also a `literal`; `pattern` is set only if it could match other paths. */
type Selector =
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'split-path'; readonly segments: readonly Pattern[]; readonly scope: Scope }
  | {
      readonly kind: 'full-path'
      readonly pattern: Pattern | undefined
      readonly literal: Path | undefined
      readonly scope: Scope
    }
  | { readonly kind: 'set'; readonly members: readonly Member[] }

/** The reason why the text is not a selector, as a phrase that follows the words "the selector". */
export interface SelectorProblem {
  readonly problem: string
}

export type Member = Exclude<Selector, { kind: 'set' }>

/** @throws TooCostly if parsing exceeds the budget */
export function parseSelector(text: string, planning: PlanningBudget): Selector | SelectorProblem {
  if (text === '') return { problem: 'is empty; it must be a path, a pattern after ? or *, or a set after #' }
  const bytes = Buffer.byteLength(text)
  if (bytes > selectorBytesMax) return { problem: `has ${bytes} bytes of UTF-8; the limit is ${selectorBytesMax}` }
  if (!text.isWellFormed()) return { problem: 'contains a lone surrogate, which UTF-8 cannot encode' }
  planning.charge(text.length * textUnitCost, 'its length')
  const reader = new SelectorReader(text, planning)
  const selector = text[0] === '#' ? readSet(text, reader) : reader.member(0, text.length)
  return 'problem' in selector ? selector : (limitProblem(selector) ?? selector)
}

function readSet(text: string, reader: SelectorReader): Selector | SelectorProblem {
  const members: Member[] = []
  for (const [from, to] of memberBounds(text)) {
    const member = reader.member(from, to)
    if ('problem' in member) return member
    members.push(member)
  }
  return { kind: 'set', members }
}

/** Members are separated by the last four slashes of every run of at least four. */
function memberBounds(text: string): [from: number, to: number][] {
  const members: [number, number][] = []
  let from = 1
  for (const { 0: run, index } of text.matchAll(/\/{4,}/g)) {
    members.push([from, index + run.length - 4])
    from = index + run.length
  }
  members.push([from, text.length])
  return members
}

/** Parses the members of one selector; problems give positions in the whole text. */
class SelectorReader {
  readonly #budget: Budget

  constructor(
    private readonly text: string,
    planning: PlanningBudget,
  ) {
    this.#budget = { remainingSize: selectorSizeMax, planning }
  }

  member(start: number, to: number): Member | SelectorProblem {
    this.#budget.planning.charge(memberCost, 'its members')
    let from = start
    while (this.text[from] === '#' && from < to) from++
    if (from === to) return this.#problem('has an empty member', from, 'each member of a set must be a selector')
    const first = this.text[from]
    switch (first) {
      case '>':
        return this.#path(from + 1, to)
      case '?':
      case '*': {
        const { scope, end } = this.#qualifier(from + 1, to)
        if (end === from + 1 || this.text.slice(from + 1, end) === '/') {
          return this.#problem(`has an empty pattern after "${first}"`, from + 1, '"?.*//" selects every topic')
        }
        return first === '?' ? this.#splitPath(from + 1, end, scope) : this.#fullPath(from + 1, end, scope)
      }
      case '$':
      case '%':
      case '&':
      case '<':
        return this.#problem(
          `begins with "${first}"`,
          from,
          'write >, ?, *, # or a path here, and put > before a path that starts with such a character',
        )
      default:
        return this.#path(from, to)
    }
  }

  #qualifier(from: number, to: number): { scope: Scope; end: number } {
    if (to === from || this.text[to - 1] !== '/') return { scope: 'self', end: to }
    return to - 1 > from && this.text[to - 2] === '/'
      ? { scope: 'subtree', end: to - 2 }
      : { scope: 'descendants', end: to - 1 }
  }

  #path(from: number, to: number): Member | SelectorProblem {
    const text = this.text.slice(from, to)
    const path = parsePath(text)
    if (typeof path === 'string') return { kind: 'path', path }
    if (text.endsWith('//') && typeof parsePath(text.slice(0, -2)) === 'string') {
      return this.#problem(
        'is a path that ends in "//"',
        to - 2,
        'to select a topic and its descendants, write "*path//"',
      )
    }
    return this.#problem('has no valid path', from, `it ${path.problem}`)
  }

  #splitPath(start: number, to: number, scope: Scope): Member | SelectorProblem {
    const segments: Pattern[] = []
    const from = this.text[start] === '/' ? start + 1 : start
    let quoting = false
    for (let at = from; at <= to; ) {
      const { end, open } = segmentEnd(this.text, at, to, quoting)
      if (end === at) return this.#problem('has an empty segment', at, 'put a pattern between two slashes')
      const opening = quoting ? '\\Q' : ''
      const pattern = readPattern(opening + this.text.slice(at, end), this.#budget)
      if ('problem' in pattern) {
        const index = at + Math.max(0, pattern.at - opening.length)
        return this.#patternProblem(pattern, index, 'each segment between slashes must be one regular expression')
      }
      segments.push(pattern)
      quoting = open
      at = end + 1
    }
    return { kind: 'split-path', segments, scope }
  }

  #fullPath(from: number, to: number, scope: Scope): Member | SelectorProblem {
    const text = this.text.slice(from, to)
    const path = scope === 'subtree' ? parsePath(text) : undefined
    const literal = typeof path === 'string' ? path : undefined
    // The usual subtree: the pattern would match no other path.
    if (literal !== undefined && !/[\\^$.|?*+()[\]{}]/.test(text))
      return { kind: 'full-path', pattern: undefined, literal, scope }
    const pattern = readPattern(text, this.#budget, scope)
    if (!('problem' in pattern)) return { kind: 'full-path', pattern, literal, scope }
    // The text of a path need not be a valid regular expression. If it is not, only the literal reading remains.
    if (literal !== undefined && !pattern.refused) return { kind: 'full-path', pattern: undefined, literal, scope }
    const remedy = scope === 'subtree' ? 'write a regular expression or a path' : 'to quote a path, write \\Q…\\E'
    return this.#patternProblem(pattern, from + pattern.at, remedy)
  }

  #problem(found: string, index: number, remedy: string): SelectorProblem {
    return { problem: `${found} at character ${this.#characterAt(index)}; ${remedy}` }
  }

  #patternProblem({ problem, refused }: SyntaxProblem, index: number, remedy: string): SelectorProblem {
    const kind = refused ? 'an unsupported pattern' : 'a syntax error'
    return { problem: `has ${kind} at character ${this.#characterAt(index)}: ${problem}; ${remedy}` }
  }

  /** The position of the character at a UTF-16 index, counted from 1. */
  #characterAt(index: number): number {
    return [...this.text.slice(0, index)].length + 1
  }
}

/** The next slash, and whether `\Q` is open there. A backslash escapes the next character unless it is a slash. */
function segmentEnd(text: string, from: number, to: number, quoting: boolean): { end: number; open: boolean } {
  let open = quoting
  for (let at = from; at < to; at++) {
    const char = text[at]
    if (char === '/') return { end: at, open }
    if (char !== '\\' || at + 1 >= to || text[at + 1] === '/') continue
    const next = text[at + 1]
    if (!open || next === 'E') at++
    if (open && next === 'E') open = false
    else if (!open && next === 'Q') open = true
  }
  return { end: to, open }
}

export function patternsIn(selector: Selector): readonly Pattern[] {
  switch (selector.kind) {
    case 'path':
      return []
    case 'split-path':
      return selector.segments
    case 'full-path':
      return selector.pattern === undefined ? [] : [selector.pattern]
    case 'set':
      return selector.members.flatMap(patternsIn)
    default:
      return selector satisfies never
  }
}

function limitProblem(selector: Selector): SelectorProblem | undefined {
  let engines = 0
  let size = 0
  let linearSize = 0
  for (const { engine, node } of patternsIn(selector)) {
    if (engine === undefined) continue
    engines++
    size += node.size
    if (engine.isLinear) linearSize += node.size
  }
  if (engines > selectorEnginesMax || size > enginesSizeMax) {
    return {
      problem:
        `has ${engines} regular expressions with a total size of ${size}; ` +
        `the limit is ${selectorEnginesMax} with a total size of ${enginesSizeMax}`,
    }
  }
  if (linearSize <= linearSizeMax) return undefined
  return {
    problem:
      'has groups, alternatives, several repetitions, (?i) or named classes in regular expressions with a total size of ' +
      `${linearSize}; the limit for those is ${linearSizeMax}`,
  }
}
