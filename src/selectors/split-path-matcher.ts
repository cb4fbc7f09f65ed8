/**
 * The matcher of a split-path pattern. It examines the segments after the plan's base, from left to right. If the topic does
 * not match, the matcher returns the next key that can, or false, so that the scan reads the next topic:
 *
 *     ?a/.+/temp      a/x          too short         seek  a/x/temp
 *                     a/x/hum      no match          seek  a/x/temp
 *                     a/x/wind     sorts after temp  seek  past a/x
 *                     a/x/temp/c   too deep          seek  past a/x
 *
 * Call it only for topics inside the plan's ranges, where the base already matches.
 */
import { pathBytesMax } from '../settings/limits.js'
import { encodeKey } from '../topics/key.js'
import { everyTopic, keyAfterSubtree } from '../topics/range.js'
import type { Test } from './pattern/engine.js'
import { compareBytes, type Prefix } from './pattern/prefixes.js'
import type { Matcher } from './plan.js'
import type { Scope } from './scope.js'

export interface Segment {
  /** At least one; as in `Pattern`, without the prefixes that no segment can have. */
  readonly prefixes: readonly Prefix[]
  /** The text of the first prefix: no matching segment sorts before it. */
  readonly least: string
  /** Undefined if the prefixes are exact. */
  readonly test: Test | undefined
}

/**
 * @param segments the segments after the base
 * @param depth the number of segments in the base
 * @param baseLength the base's length in UTF-16 units; undefined if it varies
 */
export function splitPathMatcher(
  segments: readonly Segment[],
  depth: number,
  baseLength: number | undefined,
  scope: Scope,
): Matcher {
  /** The least key that can match after a segment; if no later sibling can match, the search continues at the parent. */
  function seekPast(path: string, from: number, to: number, index: number, position: number): Buffer | false {
    let start = from
    let end = to
    let next = segments[index]?.prefixes[position + 1]
    for (let i = index; next === undefined; ) {
      if (i === 0) return start === 0 ? everyTopic.end : subtreeEnd(path, start - 1)
      i--
      end = start - 1
      start = path.lastIndexOf('/', end - 1) + 1
      const prefixes = segments[i]?.prefixes ?? []
      const parentPosition = locate(prefixes, path, start, end)
      if (prefixes[parentPosition]?.rest !== 'none') return subtreeEnd(path, end)
      next = prefixes[parentPosition + 1]
    }
    return seekTo(path.slice(0, start) + next.text)
  }

  return (path) => {
    let from = baseLength ?? afterSlashes(path, depth)
    let index = 0
    for (const { prefixes, test } of segments) {
      const slash = path.indexOf('/', from)
      const to = slash === -1 ? path.length : slash
      const position = locate(prefixes, path, from, to)
      const prefix = prefixes[position]
      if (prefix === undefined || !begins(prefix, path, from, to)) return seekPast(path, from, to, index, position)
      if (prefix.rest === 'nonEmpty' && to - from === prefix.text.length) return subtreeEnd(path, to)
      if (prefix.rest === 'unknown' && test !== undefined && !test(path.slice(from, to))) return subtreeEnd(path, to)
      const next = segments[index + 1]
      if (next === undefined) {
        if (slash === -1) return scope !== 'descendants'
        if (scope !== 'self') return true
        return prefix.rest === 'none' ? seekPast(path, from, to, index, position) : subtreeEnd(path, to)
      }
      if (slash === -1) return next.least === '' ? false : seekTo(`${path}/${next.least}`)
      from = slash + 1
      index++
    }
    return false
  }
}

/** The index of the last prefix that does not sort after the segment, or -1. No other prefix can be the start of the segment. */
function locate(prefixes: readonly Prefix[], path: string, from: number, to: number): number {
  let low = 0
  let high = prefixes.length
  while (low < high) {
    const middle = (low + high) >> 1
    // `middle` is below `high`, so there is a prefix.
    if (compareBytes(path, from, to, (prefixes[middle] as Prefix).text) < 0) high = middle
    else low = middle + 1
  }
  return low - 1
}

function begins({ text, rest }: Prefix, path: string, from: number, to: number): boolean {
  const longer = to - from - text.length
  return (rest === 'none' ? longer === 0 : longer >= 0) && path.startsWith(text, from)
}

function afterSlashes(path: string, count: number): number {
  let index = 0
  for (let i = 0; i < count; i++) index = path.indexOf('/', index) + 1
  return index
}

function subtreeEnd(path: string, to: number): Buffer {
  return keyAfterSubtree(encodeKey(path.slice(0, to)))
}

/** Returns false for a key longer than any topic's, which a store need not accept. The scan then reads the next topic. */
function seekTo(path: string): Buffer | false {
  const key = encodeKey(path)
  return key.length > pathBytesMax ? false : key
}
