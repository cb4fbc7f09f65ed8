/**
 * Sets of selectors: the union of their plans. Pure.
 */
import { encodeKey } from '../topics/key.js'
import { everyTopic, type KeyRange, mergeRanges } from '../topics/range.js'
import type { Matcher, Plan } from './plan.js'

/**
 * The plan that covers what any of the plans covers. Ranges that overlap become one; where a range needs no matcher none
 * is asked, and a scan may jump over what lies inside the merged ranges but in no member's.
 */
export function planUnion(plans: readonly Plan[]): Plan {
  if (plans.length === 1) return plans[0]
  const whole = mergeRanges(plans.filter((plan) => plan.matcher === undefined).flatMap((plan) => plan.ranges))
  const asked = plans.filter(
    (plan) => plan.matcher !== undefined && !plan.ranges.every((range) => isCovered(range, whole)),
  )
  const ranges = mergeRanges([...whole, ...asked.flatMap((plan) => plan.ranges)])
  return { ranges, matcher: asked.length === 0 ? undefined : unionMatcher(whole, asked) }
}

function unionMatcher(whole: readonly KeyRange[], plans: readonly Plan[]): Matcher {
  return (path) => {
    const key = encodeKey(path)
    const inWhole = firstAfter(whole, key)
    if (isIn(whole[inWhole], key)) return true
    let seek: Buffer = whole[inWhole]?.start ?? everyTopic.end
    let jumps = true
    for (const { ranges, matcher } of plans) {
      const range = ranges[firstAfter(ranges, key)]
      if (range === undefined) continue
      const answer = isIn(range, key) ? (matcher as Matcher)(path) : range.start
      if (answer === true) return true
      if (answer === false) jumps = false
      else if (Buffer.compare(answer, seek) < 0) seek = answer
    }
    return jumps && seek
  }
}

/** The index of the first range that ends after `key`. */
function firstAfter(ranges: readonly KeyRange[], key: Buffer): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (Buffer.compare(ranges[middle].end, key) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

function isIn(range: KeyRange | undefined, key: Buffer): boolean {
  return range !== undefined && Buffer.compare(range.start, key) <= 0
}

function isCovered(range: KeyRange, ranges: readonly KeyRange[]): boolean {
  const covering = ranges[firstAfter(ranges, range.start)]
  return isIn(covering, range.start) && Buffer.compare(range.end, covering.end) <= 0
}
