/**
 * The permissions of an API key, in a form that makes checking each request cheap. Pure: nothing here reads a store or a
 * header.
 */
import type { Plan } from '../selectors/plan.js'
import { isWithin, type Path } from '../topics/path.js'
import { intersectRanges, type KeyRange, mergeRanges, subtreeRange } from '../topics/range.js'
import type { KeyRecord, Right } from './record.js'

export interface Rights {
  readonly allow: ReadonlySet<Right>
  /** The subtrees that the key may access; undefined for all. */
  readonly under: readonly Path[] | undefined
  /** The subtrees as sorted, disjoint key ranges. */
  readonly ranges: readonly KeyRange[]
}

export function rightsOf({ allow, under }: KeyRecord): Rights {
  return {
    allow: new Set(allow),
    under: under.length === 0 ? undefined : under,
    ranges: mergeRanges(under.map(subtreeRange)),
  }
}

export function mayTouch({ under }: Rights, path: Path): boolean {
  return under === undefined || under.some((subtree) => isWithin(path, subtree))
}

export function restrict({ under, ranges }: Rights, plan: Plan): Plan {
  if (under === undefined) return plan
  return { ranges: intersectRanges(plan.ranges, ranges), matcher: plan.matcher }
}

/** True if the key may access everything that the plan can match. */
export function covers({ under, ranges }: Rights, plan: Plan): boolean {
  if (under === undefined) return true
  // One pass over two sorted lists: a plan may have thousands of ranges, and a key as many subtrees.
  let i = 0
  return plan.ranges.every(({ start, end }) => {
    let own = ranges[i]
    while (own !== undefined && Buffer.compare(own.end, end) < 0) own = ranges[++i]
    return own !== undefined && Buffer.compare(own.start, start) <= 0
  })
}
