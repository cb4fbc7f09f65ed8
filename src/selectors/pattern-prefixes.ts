/**
 * What a pattern tells about its matches without an engine: the literal texts that they begin with, and what may follow.
 *
 * A start with rest `none` is one whole match; `any` and `some` stand for every continuation (`some`: not the empty one);
 * `more` for continuations that only an engine can judge. Together the starts cover every match. When none of them is
 * `more` they ARE the pattern, and no engine is needed.
 */
import { startsMax } from '../limits.js'
import type { Node } from './pattern-syntax.js'

export interface Prefix {
  readonly text: string
  readonly rest: 'none' | 'any' | 'nonEmpty' | 'unknown'
}

/**
 * The starts of a pattern: sorted by UTF-8 bytes, and disjoint (where one is open, no other begins with its text). At most
 * `startsMax`; a pattern with more alternatives than that gets fewer, shorter starts.
 */
export function prefixesOf(node: Node): readonly Prefix[] {
  return disjoint(startsIn(withoutAnchors(node)))
}

/** Whether the starts alone decide on a match. */
export function isExact(prefixes: readonly Prefix[]): boolean {
  return prefixes.every((start) => start.rest !== 'unknown')
}

/** Whether the starts are all the matches there are. */
export function areFinite(prefixes: readonly Prefix[]): boolean {
  return prefixes.every((start) => start.rest === 'none')
}

/**
 * Compares `text` from `from` to `to` with `other` by their UTF-8 bytes, without making either; both are well-formed.
 *
 * @returns below 0, 0 or above 0
 */
export function compareBytes(text: string, from: number, to: number, other: string): number {
  const length = Math.min(to - from, other.length)
  for (let i = 0; i < length; i++) {
    const a = text.charCodeAt(from + i)
    const b = other.charCodeAt(i)
    // UTF-16 sorts surrogates below U+E000, UTF-8 sorts what they stand for above U+FFFF.
    if (a !== b) return a >= 0xd800 && b >= 0xd800 ? ((a + 0x2000) & 0xffff) - ((b + 0x2000) & 0xffff) : a - b
  }
  return to - from - other.length
}

const nothing: readonly Prefix[] = [{ text: '', rest: 'none' }]
const unknown: readonly Prefix[] = [{ text: '', rest: 'unknown' }]
const anything: readonly Prefix[] = [{ text: '', rest: 'any' }]
const something: readonly Prefix[] = [{ text: '', rest: 'nonEmpty' }]

/** A leading `^` and a trailing `$` say what holds anyway: every pattern is matched against the whole text. */
function withoutAnchors(node: Node): Node {
  if (node.kind === 'either') return { ...node, nodes: node.nodes.map(withoutAnchors) }
  if (node.kind !== 'sequence') return node
  const first = node.nodes[0]?.kind === 'start' ? 1 : 0
  const last = node.nodes.at(-1)?.kind === 'end' ? -1 : undefined
  return { ...node, nodes: node.nodes.slice(first, last) }
}

function startsIn(node: Node): readonly Prefix[] {
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
      for (const alternative of node.nodes) prefixes.push(...startsIn(alternative))
      return prefixes.length > startsMax ? unknown : prefixes
    }
    case 'sequence': {
      let prefixes = nothing
      for (const next of node.nodes) {
        prefixes = followed(prefixes, next)
        if (!prefixes.some((start) => start.rest === 'none')) {
          const last = next === node.nodes.at(-1)
          return last ? prefixes : opened(prefixes)
        }
      }
      return prefixes
    }
    case 'repeat':
      return repeated(node.node, node.min, node.max)
    default:
      return node satisfies never
  }
}

function characters(ranges: readonly number[]): readonly Prefix[] {
  const prefixes: Prefix[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    for (let code = ranges[i]; code <= ranges[i + 1]; code++) {
      if (prefixes.length === startsMax) return unknown
      // A surrogate matches nothing: no path holds one.
      if (code < 0xd800 || code > 0xdfff) prefixes.push({ text: String.fromCodePoint(code), rest: 'none' })
    }
  }
  return prefixes
}

function repeated(node: Node, min: number, max: number): readonly Prefix[] {
  if (max === 0) return nothing
  if (node.kind === 'any' && max === Infinity) return min === 0 ? anything : min === 1 ? something : unknown
  let prefixes = nothing
  for (let i = 0; i < min; i++) {
    prefixes = followed(prefixes, node)
    if (!prefixes.some((start) => start.rest === 'none')) return min === 1 && max === 1 ? prefixes : opened(prefixes)
  }
  if (max === min) return prefixes
  if (max > 1 + min) return opened(prefixes)
  const once = followed(prefixes, node)
  return prefixes.length + once.length > startsMax ? opened(prefixes) : [...prefixes, ...once]
}

/** The starts of what `starts` stand for, followed by `next`. */
function followed(prefixes: readonly Prefix[], next: Node): readonly Prefix[] {
  const continuations = startsIn(next)
  const longer: Prefix[] = []
  for (const start of prefixes) {
    if (start.rest !== 'none') longer.push({ text: start.text, rest: 'unknown' })
    else for (const { text, rest } of continuations) longer.push({ text: start.text + text, rest })
    if (longer.length > startsMax) return opened(prefixes)
  }
  return longer
}

function opened(prefixes: readonly Prefix[]): readonly Prefix[] {
  return prefixes.map(({ text }) => ({ text, rest: 'unknown' }))
}

function disjoint(prefixes: readonly Prefix[]): readonly Prefix[] {
  const sorted = prefixes.toSorted((a, b) => compareBytes(a.text, 0, a.text.length, b.text))
  const kept: Prefix[] = []
  for (const start of sorted) {
    const last = kept.at(-1)
    if (last === undefined || !start.text.startsWith(last.text)) kept.push(start)
    else if (last.text === start.text) kept[kept.length - 1] = { text: last.text, rest: both(last.rest, start.rest) }
    else if (last.rest === 'none') kept.push(start)
  }
  return kept
}

function both(a: Prefix['rest'], b: Prefix['rest']): Prefix['rest'] {
  if (a === b) return a
  if (a === 'any' || b === 'any') return 'any'
  if (a === 'unknown' || b === 'unknown') return 'unknown'
  return 'any'
}
