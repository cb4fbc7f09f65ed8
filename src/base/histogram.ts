/** Histograms. Recording takes nanoseconds and allocates nothing. The tables of ops/metrics/ decide what they mean. */

/** A histogram at one moment, as plain data that a message can carry. */
export interface HistogramStats {
  /** Upper bounds, ascending; a value equal to a bound is counted there. */
  readonly bounds: readonly number[]
  /** The number of values in each bucket; the last bucket has those above all bounds. Not cumulative. */
  readonly counts: readonly number[]
  readonly sum: number
}

export interface Histogram {
  record(value: number): void
  read(): HistogramStats
}

/** @param bounds ascending; recording searches them from the first, so low values are the cheapest */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    record(value) {
      // `index` is at most `bounds.length`, so both casts to `number` hold.
      let index = 0
      while (index < bounds.length && value > (bounds[index] as number)) index++
      counts[index] = (counts[index] as number) + 1
      sum += value
    },
    read: () => ({ bounds, counts: [...counts], sum }),
  }
}

/** Bounds for durations in seconds: from a read that is answered at once to a commit at its deadline. */
export const secondsBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
