/**
 * Sets of selectors: the union of their plans. Pure.
 *
 * Overlapping ranges are merged. In the ranges of members without a matcher, every key matches; elsewhere the other
 * members' matchers decide, and keys in no member's range are skipped.
 */
import { encodeKey } from '../topics/key.js'
import { everyTopic, type KeyRange, mergeRanges } from '../topics/range.js'
import type { Matcher, Plan } from './plan.js'

export function planUnion(plans: readonly Plan[]): Plan {
  const [first, ...others] = plans
  if (first !== undefined && others.length === 0) return first
  const exactRanges = mergeRanges(plans.filter((plan) => plan.matcher === undefined).flatMap((plan) => plan.ranges))
  const members = plans.filter(
    (plan): plan is Member =>
      plan.matcher !== undefined && !plan.ranges.every((range) => isCovered(range, exactRanges)),
  )
  const ranges = mergeRanges([...exactRanges, ...members.flatMap((member) => member.ranges)])
  return { ranges, matcher: members.length === 0 ? undefined : unionMatcher(exactRanges, members) }
}

/** A plan whose ranges alone are not exact. */
interface Member extends Plan {
  readonly matcher: Matcher
}

function unionMatcher(exactRanges: readonly KeyRange[], members: readonly Member[]): Matcher {
  return (path, slice) => {
    const key = encodeKey(path)
    const exactRange = firstEndingAfter(exactRanges, key)
    if (contains(exactRange, key)) return true
    let seek: Buffer = exactRange?.start ?? everyTopic.end
    let canSeek = true
    for (const { ranges, matcher } of members) {
      const range = firstEndingAfter(ranges, key)
      if (range === undefined) continue
      const answer = contains(range, key) ? matcher(path, slice) : range.start
      if (answer === true) return true
      if (answer === false) canSeek = false
      else if (Buffer.compare(answer, seek) < 0) seek = answer
    }
    return canSeek && seek
  }
}

/** The first range that ends after `key`. @param ranges sorted and disjoint */
function firstEndingAfter(ranges: readonly KeyRange[], key: Buffer): KeyRange | undefined {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >> 1
    // `middle` is below `high`, so there is a range.
    if (Buffer.compare((ranges[middle] as KeyRange).end, key) <= 0) low = middle + 1
    else high = middle
  }
  return ranges[low]
}

/** @param range must end after `key` */
function contains(range: KeyRange | undefined, key: Buffer): boolean {
  return range !== undefined && Buffer.compare(range.start, key) <= 0
}

function isCovered(range: KeyRange, ranges: readonly KeyRange[]): boolean {
  const covering = firstEndingAfter(ranges, range.start)
  return covering !== undefined && contains(covering, range.start) && Buffer.compare(range.end, covering.end) <= 0
}
