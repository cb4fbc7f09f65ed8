/**
 * A plan: what a selector becomes before anything is read. The fewest disjoint key ranges that can hold its matches and,
 * only where the ranges alone do not decide, a matcher. Pure; the store runs plans and never sees a selector.
 */
import type { KeyRange } from '../topics/range.js'

/**
 * Decides on one topic inside a plan's ranges.
 *
 * `true`: it matches. `false`: it does not. A key: it does not, and no key from it up to (not including) the returned
 * one does either, so that a scan may jump there; the returned key sorts after the topic's own.
 */
export type Matcher = (path: string) => boolean | Buffer

/** Sorted, disjoint ranges; with no matcher every topic in them matches. */
export interface Plan {
  readonly ranges: readonly KeyRange[]
  readonly matcher: Matcher | undefined
}
