/**
 * From a selector to its plan (plan.ts). Pure except for the cache: plans are immutable, and the same text gives the
 * same plan.
 *
 * Full-path patterns are planned in plan-full-path.ts, split-path patterns in plan-split-path.ts, sets in
 * plan-union.ts. The bounds of a range and the keys that a matcher returns are at most one byte longer than the longest
 * key.
 */
import { LRUCache } from 'lru-cache'
import { automatonBytesMax, planCacheBytesMax } from '../limits.js'
import { inOwnMemory, topicRange } from '../topics/range.js'
import { enginesIn, type Member, parseSelector, type Selector, type SelectorProblem } from './parse-selector.js'
import type { Plan } from './plan.js'
import { planFullPath } from './plan-full-path.js'
import { planSplitPath } from './plan-split-path.js'
import { planUnion } from './plan-union.js'

const cache = new LRUCache<string, Plan | SelectorProblem>({ maxSize: planCacheBytesMax })

/** The plan of a selector, compiled and cached; or what is wrong with its text. */
export function planSelector(text: string): Plan | SelectorProblem {
  const cached = cache.get(text)
  if (cached !== undefined) return cached
  const selector = parseSelector(text)
  if ('problem' in selector) return remember(text, selector, 0)
  const plan = planOf(selector)
  return remember(text, plan, bytesOf(plan, enginesIn(selector).length))
}

/** @param bytes what the plan takes besides the entry and its text */
function remember<T extends Plan | SelectorProblem>(text: string, plan: T, bytes: number): T {
  cache.set(text, plan, { size: entryBytes + 4 * text.length + bytes })
  return plan
}

/** The plan of a parsed selector; compiles its patterns. */
function planOf(selector: Selector): Plan {
  return selector.kind === 'set' ? planUnion(selector.members.map(planMember)) : planMember(selector)
}

/** The plan of one member, whose ranges may be kept: those of a union and its matcher are made of them. */
function planMember(member: Member): Plan {
  const { ranges, matcher } = compile(member)
  return { ranges: inOwnMemory(ranges), matcher }
}

function compile(member: Member): Plan {
  switch (member.kind) {
    case 'path':
      return { ranges: [topicRange(member.path)], matcher: undefined }
    case 'split-path':
      return planSplitPath(member.segments, member.scope)
    case 'full-path':
      return planFullPath(member.pattern, member.literal, member.scope)
    default:
      return member satisfies never
  }
}

/** A cached plan's own objects, closures and keys: a rough mean. */
const entryBytes = 2048

/** The most bytes that a plan may take: its ranges, and the automata of its patterns. */
function bytesOf(plan: Plan, engines: number): number {
  let bytes = engines * automatonBytesMax
  for (const range of plan.ranges) bytes += range.start.length + range.end.length
  return bytes
}
