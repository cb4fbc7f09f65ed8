/**
 * Split-path patterns: one pattern for each segment, planned into ranges and a matcher that skips.
 *
 * Leading segments with finitely many texts become the ranges' base, the first other one narrows them by its starts. The
 * matcher looks at the segments after the base, from left to right, and answers with the next key that can match:
 *
 *     ?a/.*\/temp     a/x          too short    seek  a/x/temp
 *                     a/x/hum      no match     seek  a/x/temp
 *                     a/x/wind     beyond temp  seek  past a/x
 *                     a/x/temp/c   too deep     seek  past a/x
 *
 * It trusts that it is asked about topics inside the plan's ranges only: there the base has matched already.
 */
import { pathBytesMax, patternRangesMax } from '../limits.js'
import { encodeKey } from '../topics/key.js'
import type { Path } from '../topics/path.js'
import { descendantsRange, everyTopic, type KeyRange, mergeRanges, subtreeRange, topicRange } from '../topics/range.js'
import { compileTest, type Pattern, type Scope, type Test } from './pattern.js'
import { areFinite, compareBytes, isExact, type Prefix } from './pattern-prefixes.js'
import type { Matcher, Plan } from './plan.js'

/** The plan of a split-path pattern: no range at all when it can match nothing. */
export function planSplitPath(patterns: readonly Pattern[], scope: Scope): Plan {
  const segments: Segment[] = []
  for (const pattern of patterns) {
    const segment = segmentOf(pattern)
    if (segment.starts.length === 0) return { ranges: [], matcher: undefined }
    segments.push(segment)
  }
  let bases: readonly string[] = ['']
  let depth = 0
  while (depth < segments.length && areFinite(segments[depth].starts)) {
    const { starts } = segments[depth]
    if (bases.length * starts.length > patternRangesMax) break
    bases = bases.flatMap((base) => starts.map((start) => `${base + start.text}/`))
    depth++
  }
  bases = bases.filter((base) => Buffer.byteLength(base) <= pathBytesMax + 1)
  if (depth === segments.length) {
    return { ranges: mergeRanges(bases.map((base) => baseRange(base, scope))), matcher: undefined }
  }
  const { starts } = segments[depth]
  const narrow = bases.length * starts.length <= patternRangesMax ? starts : [{ text: '', rest: 'any' } as const]
  const ranges = bases.flatMap((base) => narrow.flatMap((start) => startRanges(base, start)))
  const decided = narrow === starts && depth === segments.length - 1 && scope === 'subtree' && isExact(starts)
  const known = bases.length === 1 ? bases[0].length : undefined
  return { ranges: mergeRanges(ranges), matcher: decided ? undefined : skippingMatcher(segments, depth, known, scope) }
}

/** A segment's pattern as the matcher needs it; the starts that no segment can have are left out. */
interface Segment {
  readonly starts: readonly Prefix[]
  readonly test: Test | undefined
}

function segmentOf(pattern: Pattern): Segment {
  const starts = pattern.starts.filter(
    ({ text, rest }) =>
      !/[\0/]/.test(text) && Buffer.byteLength(text) <= pathBytesMax && (text !== '' || rest !== 'none'),
  )
  return { starts, test: isExact(starts) ? undefined : remembering(compileTest(pattern)) }
}

/** A test that remembers its last answer: in key order a topic mostly shares its upper segments with the one before. */
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

function baseRange(base: string, scope: Scope): KeyRange {
  const path = base.slice(0, -1) as Path
  return scope === 'self' ? topicRange(path) : scope === 'subtree' ? subtreeRange(path) : descendantsRange(path)
}

/** The topics below `base` whose next segment fits the start, and all their descendants. */
function startRanges(base: string, { text, rest }: Prefix): KeyRange[] {
  const prefix = base + text
  if (prefix === '') return [everyTopic]
  if (Buffer.byteLength(prefix) > pathBytesMax) return []
  const key = encodeKey(prefix)
  const start = rest === 'nonEmpty' && text !== '' ? Buffer.concat([key, pastSubtree]) : key
  if (rest === 'none') return [{ start, end: Buffer.concat([key, pastSubtree]) }]
  const end = Buffer.from(key)
  end[end.length - 1]++
  return [{ start, end }]
}

/** After a topic's key: the least byte that no descendant's key has there. */
const pastSubtree = Buffer.from([0x01])

function skippingMatcher(
  segments: readonly Segment[],
  depth: number,
  baseLength: number | undefined,
  scope: Scope,
): Matcher {
  const count = segments.length

  /** The least key past a segment, and past its parents for as long as no sibling of theirs can match. */
  function seekPast(path: string, from: number, to: number, index: number, position: number): Buffer | false {
    let start = from
    let end = to
    let next = position + 1
    for (let i = index; ; ) {
      const { starts } = segments[i]
      if (next < starts.length) return seekTo(path.slice(0, start) + starts[next].text)
      if (i === depth) return start === 0 ? everyTopic.end : subtreeEnd(path, start - 1)
      i--
      end = start - 1
      start = path.lastIndexOf('/', end - 1) + 1
      next = locate(segments[i].starts, path, start, end)
      if (segments[i].starts[next].rest !== 'none') return subtreeEnd(path, end)
      next++
    }
  }

  return (path) => {
    let from = baseLength ?? afterSlashes(path, depth)
    for (let i = depth; i < count; i++) {
      const { starts, test } = segments[i]
      const slash = path.indexOf('/', from)
      const to = slash === -1 ? path.length : slash
      const position = locate(starts, path, from, to)
      const start = starts[position]
      if (start === undefined || !begins(start, path, from, to)) return seekPast(path, from, to, i, position)
      if (start.rest === 'nonEmpty' && to - from === start.text.length) return subtreeEnd(path, to)
      if (start.rest === 'unknown' && test !== undefined && !test(path.slice(from, to))) return subtreeEnd(path, to)
      if (i === count - 1) {
        if (slash === -1) return scope !== 'descendants'
        if (scope !== 'self') return true
        return start.rest === 'none' ? seekPast(path, from, to, i, position) : subtreeEnd(path, to)
      }
      if (slash === -1) {
        const first = segments[i + 1].starts[0].text
        return first === '' ? false : seekTo(`${path}/${first}`)
      }
      from = slash + 1
    }
    return false
  }
}

/** The last start that is not after the segment, or -1; if any start begins the segment it is this one. */
function locate(starts: readonly Prefix[], path: string, from: number, to: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (compareBytes(path, from, to, starts[middle].text) < 0) high = middle
    else low = middle + 1
  }
  return low - 1
}

function begins({ text, rest }: Prefix, path: string, from: number, to: number): boolean {
  const longer = to - from - text.length
  return (rest === 'none' ? longer === 0 : longer >= 0) && path.startsWith(text, from)
}

function afterSlashes(path: string, count: number): number {
  let at = 0
  for (let i = 0; i < count; i++) at = path.indexOf('/', at) + 1
  return at
}

function subtreeEnd(path: string, to: number): Buffer {
  return Buffer.concat([encodeKey(path.slice(0, to)), pastSubtree])
}

/** A seek to a key that no topic can have would be longer than a store need allow: then the next topic is asked about. */
function seekTo(path: string): Buffer | false {
  const key = encodeKey(path)
  return key.length > pathBytesMax ? false : key
}
