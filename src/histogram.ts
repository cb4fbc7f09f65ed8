/**
 * Distributions: how often something took how long, or was how large. Recording costs a few nanoseconds and no memory;
 * what a distribution means, and how it is shown, is for those who read it (ops/metrics.ts).
 */

/** A distribution at one moment, fit for a message. */
export interface HistogramStats {
  /** Upper bounds, ascending; a value equal to a bound is counted there. */
  readonly bounds: readonly number[]
  /** How many values fell to each bound, and last those beyond all bounds. Not cumulative. */
  readonly counts: readonly number[]
  readonly sum: number
}

export interface Histogram {
  /** @param times how many values it stands for; 1 unless told */
  record(value: number, times?: number): void
  read(): HistogramStats
}

/** @param bounds ascending; the first ones are the cheapest to record, so what is common belongs there */
export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = new Float64Array(bounds.length + 1)
  let sum = 0
  return {
    record(value, times = 1) {
      let place = 0
      while (place < bounds.length && value > bounds[place]) place++
      counts[place] += times
      sum += value * times
    },
    read: () => ({ bounds, counts: [...counts], sum }),
  }
}

/** Bounds for durations, in seconds: from a read that is answered at once to one that nearly times out. */
export const secondsBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
