/**
 * One regular expression, from text to a test. The only file that uses re2js.
 *
 * A text is parsed (pattern-syntax.ts), charged to its selector's budget and reduced to its prefixes
 * (pattern-prefixes.ts). Only a pattern whose prefixes are not exact is ever compiled, by one of two engines:
 * - the built-in RegExp, where backtracking is provably harmless: fixed characters around at most one repetition of one
 *   class, and perhaps `.*` at the very end, which cannot fail. It tries each length of that one repetition once.
 * - re2js otherwise: linear time for every pattern. Its caveats: its lazy automaton may grow to 8 MiB per pattern
 *   unless limited, and is up to ten times slower than no automaton where states keep being dropped and rebuilt; it
 *   refuses a group repeated more than 1,000 times in all; only it knows the names of Unicode classes.
 *
 * A dot matches every character, line feeds included: a topic with an odd name must not escape `.*`.
 */
import { RE2JS, RE2JSException } from 're2js'
import { automatonBytesMax, automatonResetsMax, patternSizeMax } from '../limits.js'
import type { Node } from './pattern-node.js'
import { areFinite, isExact, type Prefix, prefixesOf } from './pattern-prefixes.js'
import { readSyntax, type SyntaxProblem } from './pattern-syntax.js'
import type { Scope } from './scope.js'

/** A pattern that was parsed and checked. It is compiled when a test is needed. */
export interface Pattern {
  /** Its text, with an open `\Q` closed, so that more may be written after it. */
  readonly source: string
  readonly prefixes: readonly Prefix[]
  readonly node: Node
}

/** What the patterns of one selector may still cost together. Reading a pattern lowers it. */
export interface Budget {
  /** In instructions, as `Node.size`. */
  remainingSize: number
}

/** Whether a pattern matches a text as a whole. */
export type Test = (text: string) => boolean

/**
 * Parses and checks one pattern, and charges it to the budget. Compiles only what the engine alone can check: names of
 * Unicode classes, and a pattern that may exceed the engine's own limits.
 */
export function readPattern(text: string, budget: Budget): Pattern | SyntaxProblem {
  const syntax = readSyntax(text)
  if ('problem' in syntax) return syntax
  const { node, named, source } = syntax
  budget.remainingSize -= node.size
  if (budget.remainingSize < 0)
    return { problem: 'the patterns of one selector are too large together', at: 0, refused: true }
  if (node.size > patternSizeMax) {
    const problem = `size ${node.size} with repetitions expanded, where at most ${patternSizeMax} is allowed`
    return { problem, at: 0, refused: true }
  }
  const known = new Set<string>()
  for (const { text: name, at } of named) {
    if (known.has(name)) continue
    known.add(name)
    if (failureOf(name) !== undefined) return { problem: `unknown class ${name}`, at, refused: false }
  }
  const prefixes = prefixesOf(node)
  const failure = isExact(prefixes) || isPlain(node) ? undefined : failureOf(source)
  if (failure !== undefined) return { problem: failure, at: 0, refused: true }
  return { source, prefixes, node }
}

/**
 * Whether a full-path pattern needs no engine. To find only the descendants of a match, the end of the match must be
 * known.
 */
export function rangesAreExact(pattern: Pattern, scope: Scope): boolean {
  return scope === 'descendants' ? areFinite(pattern.prefixes) : isExact(pattern.prefixes)
}

/** The test of a pattern, by the engine that suits it. */
export function compileTest(pattern: Pattern, scope: Scope = 'self'): Test {
  const harmless = harmlessExpression(pattern, scope)
  return harmless === undefined ? linearTest(pattern, scope) : (text) => harmless.test(text)
}

/** The test of any pattern by the linear-time engine. Exported so that tests can compare both engines. */
export function linearTest(pattern: Pattern, scope: Scope = 'self'): Test {
  const engine = RE2JS.compile(scope === 'self' ? pattern.source : `(?:${pattern.source})${tails[scope]}`, RE2JS.DOTALL)
  const automaton = engine.re2().dfa
  automaton.stateBudget = automatonBytesMax
  automaton.memBudget = automatonBytesMax
  let remainingBytes = automatonBytesMax
  let resets = 0
  return (text) => {
    const answer = engine.testExact(text)
    // The budget rises only when all states are dropped. Where that keeps happening, running without them is faster.
    if (automaton.memBudget > remainingBytes && ++resets === automatonResetsMax) {
      automaton.clearCache()
      automaton.failed = true
    }
    remainingBytes = automaton.memBudget
    return answer
  }
}

/**
 * The pattern as a built-in RegExp, where its worst case is a few steps for each character of the text. Exported so
 * that tests can verify that.
 *
 * @returns undefined where that bound is not proven
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

/** The RegExp source of one character or class, written as code points so that no syntax differs between engines. */
function singleSource(node: Node): string | undefined {
  if (node.kind === 'any') return '.'
  if (node.kind === 'text') return codePoint(node.text.codePointAt(0) as number)
  if (node.kind !== 'class' || node.ranges === undefined) return undefined
  return `[${node.ranges.map(([first, last]) => `${codePoint(first)}-${codePoint(last)}`).join('')}]`
}

function codePoint(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/** Why the linear-time engine refuses a pattern that was parsed without a problem: mostly because of its own limits. */
function failureOf(source: string): string | undefined {
  try {
    RE2JS.compile(source, RE2JS.DOTALL)
    return undefined
  } catch (error) {
    if (error instanceof RE2JSException) return `the linear-time engine refuses it (${error.message})`
    throw error
  }
}

/** Whether the engine certainly accepts a pattern: it has no group, and repeats only single characters or classes. */
function isPlain(node: Node): boolean {
  const nodes = node.kind === 'sequence' ? node.nodes : [node]
  return nodes.every((part) => singleSource(part.kind === 'repeat' ? part.node : part) !== undefined)
}
