/**
 * The prefixes of a pattern's matches, found without an engine: the literal text that a match starts with, and the
 * possible rest.
 *
 * A prefix with rest `none` is one whole match; `any` and `nonEmpty` stand for every continuation (`nonEmpty`: except
 * the empty one); `unknown` stands for continuations that only an engine can test. Together the prefixes cover every
 * match. If no rest is `unknown`, the prefixes ARE the pattern, and no engine is needed.
 */

import { type PlanningBudget, prefixCost } from '../planning-budget.js'
import type { Ranges } from './character-classes.js'
import type { Node } from './node.js'

/** Maximum literal prefixes of one pattern, which bound a scan. A pattern with more alternatives has shorter prefixes. */
const prefixesMax = 64

export interface Prefix {
  readonly text: string
  readonly rest: 'none' | 'any' | 'nonEmpty' | 'unknown'
}

/** Sorted by UTF-8 bytes; only a prefix with rest `none` may be the start of another. @throws TooCostly if over the budget */
export function prefixesOf(node: Node, budget: PlanningBudget): readonly Prefix[] {
  const prefixes = prefixesIn(node, budget)
  budget.charge(2 * prefixCost * prefixes.length, beginnings)
  return disjoint(prefixes)
}

/** True if the prefixes alone decide whether a string matches. */
export function isExact(prefixes: readonly Prefix[]): boolean {
  return prefixes.every((prefix) => prefix.rest !== 'unknown')
}

/** True if the prefixes are all the matches. */
export function areFinite(prefixes: readonly Prefix[]): boolean {
  return prefixes.every((prefix) => prefix.rest === 'none')
}

/** Compares a part of `text` with `other` by UTF-8 bytes, without encoding them. Both must be well-formed. */
export function compareBytes(text: string, from: number, to: number, other: string): number {
  const length = Math.min(to - from, other.length)
  for (let i = 0; i < length; i++) {
    const a = text.charCodeAt(from + i)
    const b = other.charCodeAt(i)
    // In UTF-16, surrogates sort below U+E000; in UTF-8, the characters that they encode sort above U+FFFF.
    if (a !== b) return a >= 0xd800 && b >= 0xd800 ? ((a + 0x2000) & 0xffff) - ((b + 0x2000) & 0xffff) : a - b
  }
  return to - from - other.length
}

const beginnings = 'its literal prefixes'

const nothing: readonly Prefix[] = [{ text: '', rest: 'none' }]
const unknown: readonly Prefix[] = [{ text: '', rest: 'unknown' }]
const anything: readonly Prefix[] = [{ text: '', rest: 'any' }]
const something: readonly Prefix[] = [{ text: '', rest: 'nonEmpty' }]

function prefixesIn(node: Node, budget: PlanningBudget): readonly Prefix[] {
  switch (node.kind) {
    case 'text':
      return [{ text: node.text, rest: 'none' }]
    case 'class':
      return node.ranges === undefined ? unknown : characters(node.ranges)
    case 'any':
    case 'start':
    case 'end':
    case 'boundary':
      return unknown
    case 'either': {
      const prefixes: Prefix[] = []
      for (const alternative of node.nodes) prefixes.push(...prefixesIn(alternative, budget))
      return prefixes.length > prefixesMax ? unknown : prefixes
    }
    case 'sequence': {
      let prefixes = nothing
      for (const next of node.nodes) {
        prefixes = followed(prefixes, next, budget)
        if (!prefixes.some((prefix) => prefix.rest === 'none')) {
          return next === node.nodes.at(-1) ? prefixes : continued(prefixes)
        }
      }
      return prefixes
    }
    case 'repeat':
      return repeated(node.node, node.min, node.max, budget)
    default:
      return node satisfies never
  }
}

function characters(ranges: Ranges): readonly Prefix[] {
  const prefixes: Prefix[] = []
  for (const [first, last] of ranges) {
    for (let code = first; code <= last; code++) {
      if (prefixes.length === prefixesMax) return unknown
      // A surrogate matches nothing: no path contains one.
      if (code < 0xd800 || code > 0xdfff) prefixes.push({ text: String.fromCodePoint(code), rest: 'none' })
    }
  }
  return prefixes
}

function repeated(node: Node, min: number, max: number, budget: PlanningBudget): readonly Prefix[] {
  if (max === 0) return nothing
  if (node.kind === 'any' && max === Infinity) return min === 0 ? anything : min === 1 ? something : unknown
  let prefixes = nothing
  for (let i = 0; i < min; i++) {
    prefixes = followed(prefixes, node, budget)
    if (!prefixes.some((prefix) => prefix.rest === 'none'))
      return min === 1 && max === 1 ? prefixes : continued(prefixes)
  }
  if (max === min) return prefixes
  if (max > 1 + min) return continued(prefixes)
  const once = followed(prefixes, node, budget)
  return prefixes.length + once.length > prefixesMax ? continued(prefixes) : [...prefixes, ...once]
}

/** The prefixes of a sequence: `prefixes`, followed by `next`. */
function followed(prefixes: readonly Prefix[], next: Node, budget: PlanningBudget): readonly Prefix[] {
  const continuations = prefixesIn(next, budget)
  const count = Math.min(prefixes.length * continuations.length, prefixesMax)
  budget.charge(prefixCost * count, beginnings)
  const longer: Prefix[] = []
  for (const prefix of prefixes) {
    if (prefix.rest !== 'none') longer.push({ text: prefix.text, rest: 'unknown' })
    else for (const { text, rest } of continuations) longer.push({ text: prefix.text + text, rest })
    if (longer.length > prefixesMax) return continued(prefixes)
  }
  return longer
}

function continued(prefixes: readonly Prefix[]): readonly Prefix[] {
  return prefixes.map(({ text }) => ({ text, rest: 'unknown' }))
}

function disjoint(prefixes: readonly Prefix[]): readonly Prefix[] {
  const sorted = prefixes.toSorted((a, b) => compareBytes(a.text, 0, a.text.length, b.text))
  const kept: Prefix[] = []
  for (const prefix of sorted) {
    const last = kept.at(-1)
    if (last === undefined || !prefix.text.startsWith(last.text)) kept.push(prefix)
    else if (last.text === prefix.text)
      kept[kept.length - 1] = { text: last.text, rest: either(last.rest, prefix.rest) }
    else if (last.rest === 'none') kept.push(prefix)
  }
  return kept
}

/** The rest of two prefixes with the same text. */
function either(a: Prefix['rest'], b: Prefix['rest']): Prefix['rest'] {
  if (a === b) return a
  if (a === 'any' || b === 'any') return 'any'
  if (a === 'unknown' || b === 'unknown') return 'unknown'
  return 'any'
}
