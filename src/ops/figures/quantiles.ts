/** Quantiles of a histogram's values, estimated like histogram_quantile in Prometheus. */
import type { ByLabel, Quantiles } from './console-state.js'

/** @param counts by upper bound, as in the label `le`; each count includes all lower values */
export function quantilesOf(counts: ByLabel): Quantiles {
  const buckets = Object.entries(counts)
    .map(([le, count]) => ({ bound: Number(le.replace('+Inf', 'Infinity')), count }))
    .sort((a, b) => a.bound - b.bound)
  const finite = buckets.map(({ bound }) => bound).filter(Number.isFinite)
  return {
    p50: quantile(0.5, buckets),
    p99: quantile(0.99, buckets),
    leastS: finite[0] ?? 0,
    mostS: finite.at(-1) ?? 0,
  }
}

/** Assumes evenly spread values in a bucket. Beyond the last finite bound, it returns that bound. Undefined without values. */
function quantile(
  share: number,
  buckets: readonly { readonly bound: number; readonly count: number }[],
): number | undefined {
  const rank = share * (buckets.at(-1)?.count ?? 0)
  if (rank === 0) return undefined
  const index = buckets.findIndex(({ count }) => count >= rank)
  const { bound, count } = buckets[index] ?? { bound: 0, count: 0 }
  const { bound: lower, count: below } = buckets[index - 1] ?? { bound: 0, count: 0 }
  return bound === Number.POSITIVE_INFINITY ? lower : lower + (bound - lower) * ((rank - below) / (count - below))
}
