/** Histograms of the metrics, and quantiles of the values between two readings, as histogram_quantile computes them. */
import type { MetricsText } from './metrics-text.js'

export interface Buckets {
  /** Ascending; the last is infinite. Empty where nothing was counted. */
  readonly bounds: readonly number[]
  /** For each bound, the number of values that do not exceed it. */
  readonly counts: readonly number[]
}

/** The histogram, summed over all its labels. */
export function bucketsOf(metrics: MetricsText, name: string): Buckets {
  const counts = new Map<number, number>()
  for (const { labels, value } of metrics.samples(`${name}_bucket`)) {
    const bound = Number((labels.le ?? '').replace('+Inf', 'Infinity'))
    counts.set(bound, (counts.get(bound) ?? 0) + value)
  }
  const sorted = [...counts].sort(([a], [b]) => a - b)
  return { bounds: sorted.map(([bound]) => bound), counts: sorted.map(([, count]) => count) }
}

/** Undefined if counting started over, or has other bounds. */
export function bucketsBetween(before: Buckets, after: Buckets): Buckets | undefined {
  // A histogram without labels, or a route, may appear with its first value.
  if (before.bounds.length === 0) return after
  if (before.bounds.join() !== after.bounds.join()) return undefined
  const counts = after.counts.map((count, index) => count - (before.counts[index] ?? 0))
  return counts.every((count) => count >= 0) ? { bounds: after.bounds, counts } : undefined
}

/** Assumes evenly spread values in a bucket; beyond the last finite bound, it is that one. Undefined without values. */
export function quantile(share: number, { bounds, counts }: Buckets): number | undefined {
  const total = counts.at(-1) ?? 0
  if (total === 0) return undefined
  const rank = share * total
  const index = counts.findIndex((count) => count >= rank)
  const bound = bounds[index] ?? Number.POSITIVE_INFINITY
  const lower = bounds[index - 1] ?? 0
  if (bound === Number.POSITIVE_INFINITY) return lower
  const below = counts[index - 1] ?? 0
  const within = (counts[index] ?? 0) - below
  return within === 0 ? bound : lower + (bound - lower) * ((rank - below) / within)
}
