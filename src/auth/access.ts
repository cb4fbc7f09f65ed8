/**
 * What a key may do: its record in a form against which every request can be checked at little cost. Pure: nothing here
 * reads a store or a header.
 */

import type { Plan } from '../selectors/plan.js'
import type { KeyRecord, Operation } from '../store/api-keys.js'
import { isWithin, type Path } from '../topics/path.js'
import { intersectRanges, type KeyRange, mergeRanges, subtreeRange } from '../topics/range.js'
import type { KeyCount } from './key-counts.js'
import type { RateLimit } from './rate-limit.js'

export interface Access {
  readonly name: string
  readonly allow: ReadonlySet<Operation>
  /** The subtrees that the key may touch; undefined for all. */
  readonly under: readonly Path[] | undefined
  /** The same as sorted, disjoint key ranges. */
  readonly ranges: readonly KeyRange[]
  /** Of this worker; undefined for a key that may make any number of requests. */
  readonly rateLimit: RateLimit | undefined
  /** Its answered requests. */
  readonly count: KeyCount
}

/** The access that a key record grants. */
export function accessOf({ name, allow, under }: KeyRecord, rateLimit: RateLimit | undefined, count: KeyCount): Access {
  return {
    name,
    allow: new Set(allow),
    under: under.length === 0 ? undefined : under,
    ranges: mergeRanges(under.map(subtreeRange)),
    rateLimit,
    count,
  }
}

/** Whether the key may touch the topic at `path`. */
export function mayTouch(access: Access, path: Path): boolean {
  return access.under === undefined || access.under.some((subtree) => isWithin(path, subtree))
}

/** The plan, restricted to what the key may touch. */
export function restrict(access: Access, plan: Plan): Plan {
  if (access.under === undefined) return plan
  return { ranges: intersectRanges(plan.ranges, access.ranges), matcher: plan.matcher }
}

/** Whether the key may touch everything that the plan can match. */
export function covers(access: Access, plan: Plan): boolean {
  if (access.under === undefined) return true
  // Both are sorted: a plan may have thousands of ranges, and a key as many subtrees.
  let i = 0
  return plan.ranges.every(({ start, end }) => {
    let own = access.ranges[i]
    while (own !== undefined && Buffer.compare(own.end, end) < 0) own = access.ranges[++i]
    return own !== undefined && Buffer.compare(own.start, start) <= 0
  })
}
