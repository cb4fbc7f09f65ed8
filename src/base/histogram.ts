/** Histograms. Recording takes nanoseconds and allocates nothing. The tables in ops/metrics/ give each histogram its meaning. */

/** A snapshot of a histogram, as plain data that can be sent in a message. */
export interface HistogramStats {
  /** Upper bounds, ascending and inclusive. */
  readonly bounds: readonly number[]
  /** The number of values in each bucket, not cumulative. The last bucket counts values above all bounds. */
  readonly counts: readonly number[]
  readonly sum: number
}

export interface Histogram {
  record(value: number): void
  read(): HistogramStats
}

/** @param bounds ascending; recording searches them from the first, so low values are cheapest */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    record(value) {
      // `index` is at most `bounds.length`, so both casts to `number` are safe.
      let index = 0
      while (index < bounds.length && value > (bounds[index] as number)) index++
      counts[index] = (counts[index] as number) + 1
      sum += value
    },
    read: () => ({ bounds, counts: [...counts], sum }),
  }
}

/** Bounds for durations in seconds: from an immediate read to a commit at its deadline. */
export const secondsBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
