/**
 * One regular expression, from text to a test. The only file that touches re2js.
 *
 * A text is read (pattern-syntax.ts), charged to its selector's budget, and asked for its starts (pattern-prefixes.ts). Only
 * a pattern that its starts do not decide is ever compiled, by one of two engines:
 * - the built-in RegExp, where backtracking is provably harmless: fixed characters around at most one repetition of one
 *   class, and perhaps `.*` at the very end, which cannot fail. It tries each length of that one repetition once.
 * - re2js otherwise: linear time whatever the pattern. Its own caveats: its lazy automaton may grow to 8 MiB a pattern
 *   unless told otherwise, and is up to ten times slower than none where states keep being dropped and built anew; it
 *   refuses a group repeated more than 1,000 times in all; only it knows the names of Unicode classes.
 *
 * A dot matches every character, line feeds included: a topic with an odd name must not escape `.*`.
 */
import { RE2JS, RE2JSException } from 're2js'
import { automatonBytesMax, automatonResetsMax, patternSizeMax } from '../limits.js'
import { areFinite, isExact, type Prefix, prefixesOf } from './pattern-prefixes.js'
import { type Node, readSyntax } from './pattern-syntax.js'

/** A pattern that was read and judged; compiled when a test is asked for. */
export interface Pattern {
  /** Its text, so that more may be written after it. */
  readonly source: string
  readonly starts: readonly Prefix[]
  readonly node: Node
}

/** Why there is no pattern. `at` is an index in the text; `refused` as in `SyntaxProblem`. */
export interface PatternProblem {
  readonly problem: string
  readonly at: number
  readonly refused: boolean
}

/** What the patterns of one selector may still cost together, in instructions; reading a pattern lowers it. */
export interface Budget {
  sizeLeft: number
}

/** Whether a text, whole, is a match. Never keeps the text. */
export type Test = (text: string) => boolean

/** What a test accepts beside the matches: their descendants too, or these only. */
export type Scope = 'self' | 'descendants' | 'subtree'

/** Reads and judges one pattern, and charges it to the budget; compiles nothing but the names of Unicode classes. */
export function readPattern(text: string, budget: Budget): Pattern | PatternProblem {
  const syntax = readSyntax(text)
  if ('problem' in syntax) return syntax
  const { node, named, source } = syntax
  budget.sizeLeft -= node.size
  if (budget.sizeLeft < 0) return { problem: 'more patterns than one selector may have', at: 0, refused: true }
  if (node.size > patternSizeMax) {
    const problem = `a pattern of size ${node.size}, repetitions multiplied out, where ${patternSizeMax} is allowed`
    return { problem, at: 0, refused: true }
  }
  const known = new Set<string>()
  for (const { text: name, at } of named) {
    if (known.has(name)) continue
    known.add(name)
    if (failureOf(name) !== undefined) return { problem: `the unknown class ${name}`, at, refused: false }
  }
  const starts = prefixesOf(node)
  const failure = isExact(starts) || isPlain(node) ? undefined : failureOf(source)
  if (failure !== undefined) return { problem: failure, at: 0, refused: true }
  return { source, starts, node }
}

/** Whether a full-path pattern's starts decide alone: which descendants lie below a match needs the match's own end. */
export function rangesDecide(pattern: Pattern, scope: Scope): boolean {
  return scope === 'descendants' ? areFinite(pattern.starts) : isExact(pattern.starts)
}

/** The test of a pattern, by the engine that fits it. */
export function compileTest(pattern: Pattern, scope: Scope = 'self'): Test {
  const harmless = harmlessExpression(pattern, scope)
  return harmless === undefined ? linearTest(pattern, scope) : (text) => harmless.test(text)
}

/** The test of a pattern by the linear-time engine, whatever the pattern. */
export function linearTest(pattern: Pattern, scope: Scope = 'self'): Test {
  const engine = RE2JS.compile(scope === 'self' ? pattern.source : `(?:${pattern.source})${tails[scope]}`, RE2JS.DOTALL)
  const automaton = engine.re2().dfa
  automaton.stateBudget = automatonBytesMax
  automaton.memBudget = automatonBytesMax
  let left = automatonBytesMax
  let resets = 0
  return (text) => {
    const answer = engine.testExact(text)
    // Memory comes back only when all states are dropped. Where that goes on, running without them is faster.
    if (automaton.memBudget > left && ++resets === automatonResetsMax) {
      automaton.clearCache()
      automaton.failed = true
    }
    left = automaton.memBudget
    return answer
  }
}

/**
 * The pattern as a built-in RegExp, where its worst case is a few steps for each character of the text.
 *
 * @returns undefined where that is not proven
 */
export function harmlessExpression(pattern: Pattern, scope: Scope = 'self'): RegExp | undefined {
  const nodes = pattern.node.kind === 'sequence' ? pattern.node.nodes : [pattern.node]
  let source = ''
  let repetitions = 0
  for (const node of nodes) {
    const repeated = node.kind === 'repeat' ? node : undefined
    const single = singleSource(repeated === undefined ? node : repeated.node)
    if (single === undefined) return undefined
    source += single
    if (repeated === undefined) continue
    const { min, max } = repeated
    source += min === max ? `{${min}}` : `{${min},${max === Infinity ? '' : max}}`
    const cannotFail = scope === 'self' && node === nodes.at(-1) && repeated.node.kind === 'any' && max === Infinity
    if (min !== max && !cannotFail && ++repetitions > 1) return undefined
  }
  return new RegExp(`^${source}${tails[scope]}$`, 'su')
}

const tails: Readonly<Record<Scope, string>> = { self: '', descendants: '/.+', subtree: '(?:/.+)?' }

/** The RegExp source of one character or class, spelt by code points so that no syntax differs between engines. */
function singleSource(node: Node): string | undefined {
  if (node.kind === 'any') return '.'
  if (node.kind === 'text') return codePoint(node.text.codePointAt(0) as number)
  if (node.kind !== 'class' || node.ranges === undefined) return undefined
  let source = '['
  for (let i = 0; i < node.ranges.length; i += 2)
    source += `${codePoint(node.ranges[i])}-${codePoint(node.ranges[i + 1])}`
  return `${source}]`
}

function codePoint(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/** Why the linear-time engine will not have a pattern that was read without a problem: its own limits, above all. */
function failureOf(source: string): string | undefined {
  try {
    RE2JS.compile(source, RE2JS.DOTALL)
    return undefined
  } catch (error) {
    if (error instanceof RE2JSException) return `what the linear-time engine refuses (${error.message})`
    throw error
  }
}

/** Whether a pattern cannot surprise the engine: no group, and no repetition but of a single character or class. */
function isPlain(node: Node): boolean {
  const nodes = node.kind === 'sequence' ? node.nodes : [node]
  return nodes.every((part) => singleSource(part.kind === 'repeat' ? part.node : part) !== undefined)
}
