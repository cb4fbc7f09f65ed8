/**
 * One regular expression, from text to a test.
 *
 * The text is parsed (syntax.ts), charged to the budgets of its selector and its request, stripped of anchors without
 * effect (anchors.ts), and reduced to its prefixes (prefixes.ts). If these are not exact, one of two engines compiles it:
 * - the built-in RegExp if backtracking is provably harmless: fixed characters around at most one repetition of one
 *   class, and perhaps `.*` at the very end, which cannot fail. RegExp tries each length of that repetition once.
 * - the linear-time engine (engine.ts) otherwise.
 *
 * A dot matches every character, line feeds included: a topic with an odd name must not escape `.*`.
 */
import { patternSizeMax } from '../../settings/limits.js'
import {
  instructionCost,
  instructionRangesPerUnit,
  type PlanningBudget,
  patternCost,
  wideClassCost,
} from '../planning-budget.js'
import type { Scope } from '../scope.js'
import { endIn, isPlain, withoutOuterAnchors } from './anchors.js'
import { codePointMax } from './character-classes.js'
import { compileLinear, type Test } from './engine.js'
import { type Node, rangesOf } from './node.js'
import { areFinite, isExact, type Prefix, prefixesOf } from './prefixes.js'
import { readSyntax, type SyntaxProblem } from './syntax.js'

/** A pattern that was parsed, checked and, if it needs an engine, compiled. */
export interface Pattern {
  /** Its text with any open `\Q` closed, so that more text can be appended. */
  readonly source: string
  readonly prefixes: readonly Prefix[]
  readonly node: Node
  readonly engine: Engine | undefined
}

interface Engine {
  readonly test: Test
  /** True for the linear-time engine, which is slower. */
  readonly isLinear: boolean
}

/** The remaining budget for all patterns of one selector. Reading a pattern reduces it. */
export interface Budget {
  /** In instructions, like `Node.size`. */
  remainingSize: number
  readonly planning: PlanningBudget
}

/** @param scope the part of a path that may follow the match @throws TooCostly if the pattern exceeds the budget */
export function readPattern(text: string, budget: Budget, scope: Scope = 'self'): Pattern | SyntaxProblem {
  budget.planning.charge(patternCost, 'its patterns')
  const syntax = readSyntax(text, budget.planning)
  if ('problem' in syntax) return syntax
  const { node, source } = withoutOuterAnchors(syntax)
  const end = scope === 'self' ? undefined : endIn(node)
  if (end !== undefined) {
    const problem = `"${text.slice(end.from, end.to)}" before the end of the pattern`
    return { problem, at: end.from, refused: !isPlain(node) }
  }
  budget.remainingSize -= node.size
  if (budget.remainingSize < 0)
    return { problem: 'the patterns of this selector are too large in total', at: 0, refused: true }
  if (node.size > patternSizeMax) {
    const problem = `size ${node.size} with repetitions expanded; the limit is ${patternSizeMax}`
    return { problem, at: 0, refused: true }
  }
  const parsed = { source, node, prefixes: prefixesOf(node, budget.planning) }
  // Finding only the descendants of a match requires its end to be known.
  const isDecided = scope === 'descendants' ? areFinite(parsed.prefixes) : isExact(parsed.prefixes)
  const engine = isDecided ? undefined : engineOf(parsed, scope, budget.planning)
  return engine !== undefined && 'refusal' in engine
    ? { problem: engine.refusal, at: 0, refused: true }
    : { ...parsed, engine }
}

type ParsedPattern = Pick<Pattern, 'source' | 'node'>

function engineOf(
  pattern: ParsedPattern,
  scope: Scope,
  planning: PlanningBudget,
): Engine | { readonly refusal: string } {
  const harmless = harmlessExpression(pattern, scope)
  if (harmless !== undefined) {
    planning.charge(wideClassCost * wideClassesIn(pattern.node), 'its classes of all characters')
    return { test: (text) => harmless.test(text), isLinear: false }
  }
  const units = pattern.node.size * instructionCost + Math.ceil(rangesOf(pattern.node) / instructionRangesPerUnit)
  planning.charge(units, 'the size of its patterns and their classes, with repetitions expanded')
  const test = linearTest(pattern, scope)
  return 'refusal' in test ? test : { test, isLinear: true }
}

/** Compiles any pattern with the linear-time engine. Exported so that tests can compare both engines. */
export function linearTest(pattern: ParsedPattern, scope: Scope = 'self'): Test | { readonly refusal: string } {
  return compileLinear(pattern.source, tails[scope])
}

/** Undefined unless the worst case is proven to be a few steps per character. Exported for tests that verify that. */
export function harmlessExpression({ node }: ParsedPattern, scope: Scope = 'self'): RegExp | undefined {
  const nodes = partsOf(node)
  let source = ''
  let repetitions = 0
  for (const part of nodes) {
    const repeated = part.kind === 'repeat' ? part : undefined
    const single = singleSource(repeated === undefined ? part : repeated.node)
    if (single === undefined) return undefined
    source += single
    if (repeated === undefined) continue
    const { min, max } = repeated
    source += min === max ? `{${min}}` : `{${min},${max === Infinity ? '' : max}}`
    const cannotFail = scope === 'self' && part === nodes.at(-1) && repeated.node.kind === 'any' && max === Infinity
    if (min !== max && !cannotFail && ++repetitions > 1) return undefined
  }
  return new RegExp(`^${source}${tails[scope]}$`, 'su')
}

const tails: Readonly<Record<Scope, string>> = { self: '', descendants: '/.+', subtree: '(?:/.+)?' }

function partsOf(node: Node): readonly Node[] {
  return node.kind === 'sequence' ? node.nodes : [node]
}

/** The number of dots, and of classes that include U+10FFFF, in a harmless pattern. */
function wideClassesIn(node: Node): number {
  const singles = partsOf(node).map((part) => (part.kind === 'repeat' ? part.node : part))
  return singles.filter((single) => single.kind === 'any' || (single.kind === 'class' && isWide(single))).length
}

function isWide({ ranges }: Extract<Node, { kind: 'class' }>): boolean {
  return ranges?.at(-1)?.[1] === codePointMax
}

/** The RegExp source of one character or class, as code points, whose syntax is the same in both engines. */
function singleSource(node: Node): string | undefined {
  if (node.kind === 'any') return '.'
  if (node.kind === 'text') return codePoint(node.text.codePointAt(0) as number)
  if (node.kind !== 'class' || node.ranges === undefined) return undefined
  return `[${node.ranges.map(([first, last]) => `${codePoint(first)}-${codePoint(last)}`).join('')}]`
}

function codePoint(code: number): string {
  return `\\u{${code.toString(16)}}`
}
