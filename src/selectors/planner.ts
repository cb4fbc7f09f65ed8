/**
 * Turns a selector into its plan (plan.ts). Pure except for the cache: plans are immutable, and the same text gives the
 * same plan.
 *
 * Full-path patterns are planned in plan-full-path.ts, split-path patterns in plan-split-path.ts, sets in
 * plan-union.ts. The bounds of a range and the keys returned by a matcher are at most one byte longer than the longest
 * key.
 *
 * Planning never yields, so the selectors of one request share one budget (planning-budget.ts). A cached plan is charged
 * like a new one, so that a request's response does not depend on earlier requests.
 */
import { strict as assert } from 'node:assert'
import { LRUCache } from 'lru-cache'
import { automatonBytesMax, planningUnitsMax, selectorEnginesMax } from '../settings/limits.js'
import { inOwnMemory, topicRange } from '../topics/range.js'
import { type Member, parseSelector, patternsIn, type SelectorProblem } from './parse-selector.js'
import type { Plan } from './plan.js'
import { planFullPath } from './plan-full-path.js'
import { planSplitPath } from './plan-split-path.js'
import { planUnion } from './plan-union.js'
import { keyRangeCost, PlanningBudget, TooCostly } from './planning-budget.js'

/** Maximum bytes of plans cached in each worker, estimated with every automaton at its largest. */
const planCacheBytesMax = 64 * 1024 * 1024

assert(selectorEnginesMax * automatonBytesMax < planCacheBytesMax)

const cache = new LRUCache<string, { readonly result: Plan | SelectorProblem; readonly units: number }>({
  maxSize: planCacheBytesMax,
})

/** The plan of a request's only selector, compiled and cached; or the problem with its text. */
export function planSelector(text: string): Plan | SelectorProblem {
  return cache.get(text)?.result ?? planNew(text, new PlanningBudget())
}

/** Plans the selectors of one request, within one budget. */
export class Planner {
  readonly #budget = new PlanningBudget()
  readonly #results = new Map<string, Plan | SelectorProblem>()

  /** Like `planSelector`. A repeated selector costs nothing. */
  plan(text: string): Plan | SelectorProblem {
    const known = this.#results.get(text)
    if (known !== undefined) return known
    const cached = cache.get(text)
    const isAllowed = cached === undefined || this.#budget.tryCharge(cached.units)
    const result = isAllowed ? (cached?.result ?? planNew(text, this.#budget)) : tooCostlyTogether
    this.#results.set(text, result)
    return result
  }
}

const tooCostlyTogether: SelectorProblem = {
  problem:
    'exceeds the planning limit of ' +
    `${planningUnitsMax} units together with the request's other selectors; send it on its own`,
}

/** Plans a selector that is not in the cache. A problem is also cached, unless earlier selectors caused it. */
function planNew(text: string, budget: PlanningBudget): Plan | SelectorProblem {
  const { isWhole, remaining } = budget
  try {
    const { result, bytes } = planWithin(text, budget)
    return remember(text, result, remaining - budget.remaining, bytes)
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error
    if (!isWhole) return tooCostlyTogether
    const problem = `exceeds the planning limit of ${planningUnitsMax} units, reached at ${error.message}`
    return remember(text, { problem }, planningUnitsMax, 0)
  }
}

/** @param bytes the plan's size, without the entry and its text */
function remember(text: string, result: Plan | SelectorProblem, units: number, bytes: number): Plan | SelectorProblem {
  cache.set(text, { result, units }, { size: entryBytes + 4 * text.length + bytes })
  return result
}

/** @returns the plan and its maximum size in bytes @throws TooCostly if planning exceeds the budget */
function planWithin(
  text: string,
  budget: PlanningBudget,
): { readonly result: Plan | SelectorProblem; readonly bytes: number } {
  const { remaining } = budget
  const selector = parseSelector(text, budget)
  if ('problem' in selector) return { result: selector, bytes: 0 }
  const result =
    selector.kind === 'set'
      ? planUnion(selector.members.map((member) => planMember(member, budget)))
      : planMember(selector, budget)
  const engines = patternsIn(selector).filter(({ engine }) => engine !== undefined).length
  const units = engines > 0 ? remaining - budget.remaining : 0
  return { result, bytes: engines * automatonBytesMax + units * bytesPerUnit + bytesOf(result) }
}

/** The plan of one member. Its ranges are copied, because the cache keeps them, even within the plan of a union. */
function planMember(member: Member, budget: PlanningBudget): Plan {
  const { ranges, matcher } = compile(member)
  budget.charge(ranges.length * keyRangeCost, 'its key ranges')
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

/** Bytes of a cached plan's own objects, closures and keys: a rough mean. */
const entryBytes = 2048

/** Maximum bytes that a plan with patterns keeps per unit of work: prefixes and programs. */
const bytesPerUnit = 16

/** Bytes of a key range's own objects: itself, two arrays and their buffer. */
const rangeBytes = 250

function bytesOf({ ranges }: Plan): number {
  return ranges.reduce((bytes, { start, end }) => bytes + start.length + end.length + rangeBytes, 0)
}
