/**
 * Selectors: the text of one becomes a value of a closed union, or a problem that points at the character.
 *
 *     >path or path    that topic                                        no qualifier
 *     ?a/b/c           a pattern for each segment                        / or // at the end
 *     *pattern         one pattern for the whole path                    / or // at the end
 *     #one////two      any of these
 *
 * `*P//` also is the path P, and whatever is below it, taken literally: that form is how a topic and its descendants are
 * selected for any path, pattern or not. `*P` and `*P/` are patterns only, so that a mistyped one is not quietly a path.
 *
 * A qualifier is read off the end of the text before anything else: `/` takes only the descendants of what matches, `//`
 * takes both. A path has none: its one trailing slash is dropped, and `//` is refused, since a walk or a removal that
 * meant the subtree must not quietly cover one topic. In a set the LAST four of a run of slashes separate, so that a
 * member's qualifier stands before them; a set within a set is flattened. `?` is cut at every slash, those within
 * `\Q…\E` too, which then goes on quoting in the next segment; no class or group can span a slash.
 */
import { enginesSizeMax, selectorBytesMax, selectorEnginesMax, selectorSizeMax } from '../limits.js'
import { type Path, parsePath } from '../topics/path.js'
import { type Budget, type Pattern, rangesDecide, readPattern, type Scope } from './pattern.js'
import { isExact } from './pattern-prefixes.js'

/**
 * What a text selects. A full-path pattern with the scope `subtree` has a `literal` where its text is a path too; where it is
 * nothing but a path, it has no `pattern`.
 */
export type Selector =
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'split-path'; readonly segments: readonly Pattern[]; readonly scope: Scope }
  | {
      readonly kind: 'full-path'
      readonly pattern: Pattern | undefined
      readonly literal: Path | undefined
      readonly scope: Scope
    }
  | { readonly kind: 'set'; readonly members: readonly Member[] }

/** Why a text is no selector: a phrase that goes on from the words "the selector". */
export interface SelectorProblem {
  readonly problem: string
}

type Member = Exclude<Selector, { kind: 'set' }>

/** Reads a selector; never throws, and takes time in proportion to its length. */
export function parseSelector(text: string): Selector | SelectorProblem {
  if (text === '') return { problem: 'is empty; a path, a pattern after ? or *, or a set after # is allowed' }
  const bytes = Buffer.byteLength(text)
  if (bytes > selectorBytesMax)
    return { problem: `is ${bytes} bytes of UTF-8; at most ${selectorBytesMax} are allowed` }
  if (!text.isWellFormed()) return { problem: 'holds a lone surrogate, which UTF-8 cannot carry' }
  const reader = new SelectorReader(text)
  const members: Member[] = []
  const isSet = text[0] === '#'
  for (const [from, to] of isSet ? membersOf(text) : [[0, text.length]]) {
    const member = reader.member(from, to)
    if ('problem' in member) return member
    members.push(member)
  }
  const selector: Selector = isSet ? { kind: 'set', members } : members[0]
  return beyondLimits(selector) ?? selector
}

/** Where the members of a set stand: cut at the last four slashes of every run of four or more. */
function membersOf(text: string): [number, number][] {
  const members: [number, number][] = []
  let from = 1
  for (const { 0: run, index } of text.matchAll(/\/{4,}/g)) {
    members.push([from, index + run.length - 4])
    from = index + run.length
  }
  members.push([from, text.length])
  return members
}

/** Reads the members of one selector text, which its problems point into. */
class SelectorReader {
  private readonly budget: Budget = { sizeLeft: selectorSizeMax }

  constructor(private readonly text: string) {}

  member(start: number, to: number): Member | SelectorProblem {
    let from = start
    while (this.text[from] === '#' && from < to) from++
    if (from === to) return this.problem('has an empty member', from, 'each member of a set is a selector')
    const first = this.text[from]
    switch (first) {
      case '>':
        return this.path(from + 1, to)
      case '?':
      case '*': {
        const { scope, end } = this.qualifier(from + 1, to)
        if (end === from + 1 || this.text.slice(from + 1, end) === '/') {
          return this.problem(`has an empty pattern after "${first}"`, from + 1, 'every topic is "?.*//"')
        }
        return first === '?' ? this.splitPath(from + 1, end, scope) : this.fullPath(from + 1, end, scope)
      }
      case '$':
      case '%':
      case '&':
      case '<':
        return this.problem(`begins with "${first}"`, from, '>, ?, *, # or a path is allowed; a path can stand after >')
      default:
        return this.path(from, to)
    }
  }

  private qualifier(from: number, to: number): { scope: Scope; end: number } {
    if (to === from || this.text[to - 1] !== '/') return { scope: 'self', end: to }
    return to - 1 > from && this.text[to - 2] === '/'
      ? { scope: 'subtree', end: to - 2 }
      : { scope: 'descendants', end: to - 1 }
  }

  private path(from: number, to: number): Member | SelectorProblem {
    const text = this.text.slice(from, to)
    const path = parsePath(text)
    if (typeof path === 'string') return { kind: 'path', path }
    if (text.endsWith('//') && typeof parsePath(text.slice(0, -2)) === 'string') {
      return this.problem('is a path that ends in "//"', to - 2, 'a topic and its descendants are "*path//"')
    }
    return this.problem('has no valid path', from, `it ${path.problem}`)
  }

  private splitPath(start: number, to: number, scope: Scope): Member | SelectorProblem {
    const segments: Pattern[] = []
    const from = this.text[start] === '/' ? start + 1 : start
    let quoting = false
    for (let at = from; at <= to; ) {
      const { end, open } = segmentEnd(this.text, at, to, quoting)
      if (end === at) return this.problem('has an empty segment', at, 'between two slashes stands a pattern')
      const opening = quoting ? '\\Q' : ''
      const pattern = readPattern(opening + this.text.slice(at, end), this.budget)
      if ('problem' in pattern) {
        const index = at + Math.max(0, pattern.at - opening.length)
        const allowed = 'each segment, from slash to slash, is one regular expression'
        return { problem: `${this.place(index)} ${pattern.problem}; ${allowed}` }
      }
      segments.push(pattern)
      quoting = open
      at = end + 1
    }
    return { kind: 'split-path', segments, scope }
  }

  private fullPath(from: number, to: number, scope: Scope): Member | SelectorProblem {
    const text = this.text.slice(from, to)
    const path = scope === 'subtree' ? parsePath(text) : undefined
    const literal = typeof path === 'string' ? path : undefined
    const pattern = readPattern(text, this.budget)
    if (!('problem' in pattern)) return { kind: 'full-path', pattern, literal, scope }
    // The text of a path need not be a regular expression: then only the literal reading is left.
    if (literal !== undefined && !pattern.refused) return { kind: 'full-path', pattern: undefined, literal, scope }
    const allowed = scope === 'subtree' ? 'or a path is allowed' : 'is allowed, in which \\Q…\\E quotes a path'
    return { problem: `${this.place(from + pattern.at)} ${pattern.problem}; a regular expression ${allowed}` }
  }

  private problem(found: string, index: number, allowed: string): SelectorProblem {
    return { problem: `${found} at character ${this.characterAt(index)}; ${allowed}` }
  }

  private place(index: number): string {
    return `has at character ${this.characterAt(index)}`
  }

  /** An index of the text as people count: characters, from 1. */
  private characterAt(index: number): number {
    return [...this.text.slice(0, index)].length + 1
  }
}

/** The next slash, and whether `\Q` is open there; a backslash takes the character after it along, but not a slash. */
function segmentEnd(text: string, from: number, to: number, quoting: boolean): { end: number; open: boolean } {
  let open = quoting
  for (let at = from; at < to; at++) {
    const char = text[at]
    if (char === '/') return { end: at, open }
    if (char !== '\\' || at + 1 >= to || text[at + 1] === '/') continue
    const next = text[at + 1]
    if (open ? next === 'E' : true) at++
    if (open && next === 'E') open = false
    else if (!open && next === 'Q') open = true
  }
  return { end: to, open }
}

/** The patterns of a selector that an engine has to judge. */
export function enginesIn(selector: Selector): readonly Pattern[] {
  switch (selector.kind) {
    case 'path':
      return []
    case 'split-path':
      return selector.segments.filter((pattern) => !isExact(pattern.starts))
    case 'full-path':
      return selector.pattern === undefined || rangesDecide(selector.pattern, selector.scope) ? [] : [selector.pattern]
    case 'set':
      return selector.members.flatMap(enginesIn)
    default:
      return selector satisfies never
  }
}

function beyondLimits(selector: Selector): SelectorProblem | undefined {
  const engines = enginesIn(selector)
  let size = 0
  for (const pattern of engines) size += pattern.node.size
  if (engines.length <= selectorEnginesMax && size <= enginesSizeMax) return undefined
  return {
    problem:
      `has ${engines.length} regular expressions with a total size of ${size}; ` +
      `at most ${selectorEnginesMax} with a total size of ${enginesSizeMax} are allowed`,
  }
}
