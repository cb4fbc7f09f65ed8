/** Summaries of several measurements of one quantity. */
import { strict as assert } from 'node:assert'

/** The median, the smallest and the largest of several measurements. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** @param values at least one */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** @param values at least one */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  assert(upper !== undefined && lower !== undefined, 'no median without values')
  return (lower + upper) / 2
}

/** The value that this share of the values does not exceed. @param values at least one */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
