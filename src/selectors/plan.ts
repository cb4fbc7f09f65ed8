/**
 * A plan: what a selector is compiled to before anything is read. It has disjoint key ranges, as narrow as its limits
 * allow, and a matcher only where the ranges alone are not exact. Pure; the store runs plans and compiles no selector.
 */
import type { Slice } from '../base/time-slices.js'
import type { KeyRange } from '../topics/range.js'

/**
 * Decides about one topic inside a plan's ranges.
 *
 * `true`: it matches. `false`: it does not match. A key: neither the topic nor any key up to, but not including, the
 * returned one matches, so a scan may seek to it. The returned key sorts after the topic's own.
 *
 * One call may take tens of milliseconds, so it takes a slice, which is asked between two calls whether it is over.
 */
export type Matcher = (path: string, slice: Slice) => boolean | Buffer

/** Sorted, disjoint ranges. Without a matcher, every topic in them matches. */
export interface Plan {
  readonly ranges: readonly KeyRange[]
  readonly matcher: Matcher | undefined
}
