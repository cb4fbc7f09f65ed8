/**
 * A plan: a selector compiled before anything is read. It has disjoint key ranges, as narrow as the limits allow, and a
 * matcher only if the ranges alone are not exact. Pure; the store runs plans and compiles no selector.
 */
import type { Slice } from '../base/time-slices.js'
import type { KeyRange } from '../topics/range.js'

/**
 * Matches one topic inside a plan's ranges.
 *
 * `true`: the topic matches. `false`: it does not match. A key, which sorts after the topic's: neither the topic nor any
 * key before the returned one matches, so a scan may seek there.
 *
 * One call may take tens of milliseconds, so it needs a slice. The caller checks between calls whether the slice is over.
 */
export type Matcher = (path: string, slice: Slice) => boolean | Buffer

/** Sorted, disjoint ranges. Without a matcher, every topic in them matches. */
export interface Plan {
  readonly ranges: readonly KeyRange[]
  readonly matcher: Matcher | undefined
}
