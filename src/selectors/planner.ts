/**
 * From a selector to its plan: the fewest disjoint key ranges that can hold its matches and, only where they do not
 * decide, a matcher. Pure but for the cache: plans are immutable, and the same text gives the same plan.
 *
 * Full-path patterns are planned here; split-path patterns in plan-split-path.ts, sets in plan-union.ts. A range's bounds
 * and a seek are at most one byte longer than the longest key.
 */
import { LRUCache } from 'lru-cache'
import { automatonBytesMax, pathBytesMax, planCacheBytesMax } from '../limits.js'
import { encodeKey } from '../topics/key.js'
import { isWithin, type Path, parsePath } from '../topics/path.js'
import {
  descendantsRange,
  everyTopic,
  type KeyRange,
  keyAfter,
  mergeRanges,
  subtreeRange,
  topicRange,
} from '../topics/range.js'
import { enginesIn, parseSelector, type Selector, type SelectorProblem } from './parse-selector.js'
import { compileTest, type Pattern, rangesDecide, type Scope } from './pattern.js'
import type { Prefix } from './pattern-prefixes.js'
import type { Plan } from './plan.js'
import { planSplitPath } from './plan-split-path.js'
import { planUnion } from './plan-union.js'

const cache = new LRUCache<string, Plan | SelectorProblem>({ maxSize: planCacheBytesMax })

/** The plan of a selector, compiled and kept for the next time; or what is wrong with its text. */
export function planSelector(text: string): Plan | SelectorProblem {
  const kept = cache.get(text)
  if (kept !== undefined) return kept
  const selector = parseSelector(text)
  const plan = 'problem' in selector ? selector : planOf(selector)
  const bytes = 'problem' in selector || 'problem' in plan ? 0 : bytesOf(plan, enginesIn(selector).length)
  cache.set(text, plan, { size: entryBytes + 4 * text.length + bytes })
  return plan
}

/** The plan of the topic alone. */
export function planPath(path: Path): Plan {
  return { ranges: [topicRange(path)], matcher: undefined }
}

/** The plan of the topic and all its descendants. */
export function planSubtree(path: Path): Plan {
  return { ranges: [subtreeRange(path)], matcher: undefined }
}

/** The plan of a selector that was read before; compiles its patterns. */
export function planOf(selector: Selector): Plan {
  switch (selector.kind) {
    case 'path':
      return planPath(selector.path)
    case 'split-path':
      return planSplitPath(selector.segments, selector.scope)
    case 'full-path':
      return planFullPath(selector.pattern, selector.literal, selector.scope)
    case 'set':
      return planUnion(selector.members.map(planOf))
    default:
      return selector satisfies never
  }
}

function planFullPath(pattern: Pattern | undefined, literal: Path | undefined, scope: Scope): Plan {
  const subtree = literal === undefined ? [] : [subtreeRange(literal)]
  const starts = pattern === undefined ? [] : pattern.starts.filter(isPossible)
  const ranges = mergeRanges([...subtree, ...starts.flatMap((start) => startRanges(start, scope))])
  if (pattern === undefined || rangesDecide(pattern, scope)) return { ranges, matcher: undefined }
  const test = compileTest(pattern, scope)
  return { ranges, matcher: literal === undefined ? test : (path) => isWithin(path as Path, literal) || test(path) }
}

function pathRange(path: Path, scope: Scope): KeyRange {
  return scope === 'self' ? topicRange(path) : scope === 'subtree' ? subtreeRange(path) : descendantsRange(path)
}

/** Whether any path begins with the start's text, for a start that is no whole match; U+0000 would read as a separator. */
function isPossible({ text }: Prefix): boolean {
  return text === '' || (!text.includes('\0') && !/^\/|\/\//.test(text) && Buffer.byteLength(text) <= pathBytesMax)
}

function startRanges({ text, rest }: Prefix, scope: Scope): KeyRange[] {
  if (rest === 'none') return parsePath(text) === text ? [pathRange(text as Path, scope)] : []
  if (text === '') return [everyTopic]
  const key = encodeKey(text)
  const end = Buffer.from(key)
  end[end.length - 1]++
  return [{ start: rest === 'nonEmpty' ? keyAfter(key) : key, end }]
}

/** A kept plan's own objects, closures and keys, as a rough mean. */
const entryBytes = 2048

/** What a plan may come to hold: its ranges, and the automatons of its patterns. */
function bytesOf(plan: Plan, engines: number): number {
  let bytes = engines * automatonBytesMax
  for (const range of plan.ranges) bytes += range.start.length + range.end.length
  return bytes
}
