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

/** A straight line through points, by least squares. */
interface Line {
  readonly slope: number
  /** Its `y` where `x` is 0. */
  readonly intercept: number
}

/** @param points at least two with different `x` */
export function regression(points: readonly (readonly [x: number, y: number])[]): Line {
  const n = points.length
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n
  const squares = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / squares
  return { slope, intercept: meanY - slope * meanX }
}
