/**
 * Split-path patterns: one pattern for each segment, planned as ranges and a matcher that can skip keys. Pure.
 *
 * Leading segments that match only a finite number of strings are multiplied out into bases. The literal prefixes of the
 * next segment narrow the ranges below the bases. The matcher (split-path-matcher.ts) examines that segment and the later ones.
 */
import { pathBytesMax } from '../settings/limits.js'
import { encodeKey } from '../topics/key.js'
import type { Path } from '../topics/path.js'
import { everyTopic, type KeyRange, keyAfterSubtree, mergeRanges, prefixRange } from '../topics/range.js'
import type { Test } from './pattern/engine.js'
import type { Pattern } from './pattern/pattern.js'
import { areFinite, isExact, type Prefix } from './pattern/prefixes.js'
import type { Plan } from './plan.js'
import { type Scope, scopeRange } from './scope.js'
import { type Segment, splitPathMatcher } from './split-path-matcher.js'

/** Maximum key ranges in one pattern's plan: each range needs a seek, so one wide range costs less than many narrow ones. */
const patternRangesMax = 64

const anySegment: readonly Prefix[] = [{ text: '', rest: 'any' }]

/** The plan has no ranges if the pattern cannot match. */
export function planSplitPath(patterns: readonly Pattern[], scope: Scope): Plan {
  const segments: Segment[] = []
  for (const pattern of patterns) {
    const segment = segmentOf(pattern)
    if (segment === undefined) return { ranges: [], matcher: undefined }
    segments.push(segment)
  }
  const { bases, depth } = multiplyOut(segments)
  const remaining = segments.slice(depth)
  const [next] = remaining
  if (next === undefined) {
    return {
      ranges: mergeRanges(bases.map((base) => scopeRange(base.slice(0, -1) as Path, scope))),
      matcher: undefined,
    }
  }
  const isNarrowed = bases.length * next.prefixes.length <= patternRangesMax
  const prefixes = isNarrowed ? next.prefixes : anySegment
  const ranges = mergeRanges(bases.flatMap((base) => prefixes.flatMap((prefix) => rangesBelow(base, prefix))))
  const rangesAreExact = isNarrowed && remaining.length === 1 && scope === 'subtree' && isExact(prefixes)
  if (rangesAreExact) return { ranges, matcher: undefined }
  const baseLength = bases.length === 1 ? bases[0]?.length : undefined
  return { ranges, matcher: splitPathMatcher(remaining, depth, baseLength, scope) }
}

/** A segment's pattern in the form that the plan and the matcher need; undefined if no segment can match. */
function segmentOf(pattern: Pattern): Segment | undefined {
  const prefixes = pattern.prefixes.filter(
    ({ text, rest }) =>
      !/[\0/]/.test(text) && Buffer.byteLength(text) <= pathBytesMax && (text !== '' || rest !== 'none'),
  )
  const [first] = prefixes
  if (first === undefined) return undefined
  const test = isExact(prefixes) ? undefined : pattern.engine?.test
  return { prefixes, least: first.text, test: test && remembering(test) }
}

/** Remembers the last result: in key order, most topics share their upper segments with the previous topic. */
function remembering(test: Test): Test {
  let last = ''
  let answer = test(last)
  return (text) => {
    if (text !== last) {
      answer = test(text)
      last = text
    }
    return answer
  }
}

/** Every possible text of the leading `depth` segments, each ending with a slash; `patternRangesMax` limits `depth`. */
function multiplyOut(segments: readonly Segment[]): { readonly bases: readonly string[]; readonly depth: number } {
  let bases: readonly string[] = ['']
  let depth = 0
  for (const { prefixes } of segments) {
    if (!areFinite(prefixes) || bases.length * prefixes.length > patternRangesMax) break
    bases = bases.flatMap((base) => prefixes.map(({ text }) => `${base}${text}/`))
    depth++
  }
  return { bases: bases.filter((base) => Buffer.byteLength(base) <= pathBytesMax + 1), depth }
}

/** The topics below `base` whose next segment starts with the prefix, and all their descendants. */
function rangesBelow(base: string, { text, rest }: Prefix): KeyRange[] {
  const prefix = base + text
  if (prefix === '') return [everyTopic]
  if (Buffer.byteLength(prefix) > pathBytesMax) return []
  const key = encodeKey(prefix)
  if (rest === 'none') return [{ start: key, end: keyAfterSubtree(key) }]
  const { start, end } = prefixRange(key)
  return [{ start: rest === 'nonEmpty' && text !== '' ? keyAfterSubtree(key) : start, end }]
}
