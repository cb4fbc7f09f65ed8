/**
 * One metric, in the form that prom-client's aggregation of cluster workers accepts. What is measured is decided in
 * worker-metrics.ts and metrics.ts.
 */
import type { HistogramStats } from '../../base/histogram.js'

type Labels = Readonly<Record<string, string>>
export type Samples = readonly (readonly [labels: Labels, value: number])[]

/** How the values of several workers become one. */
type Combination = 'sum' | 'min' | 'max'

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: Combination
  readonly values: readonly { readonly labels: object; readonly value: number; readonly metricName?: string }[]
}

/** One sample without labels; none if the value is undefined. */
export function one(value: number | undefined): Samples {
  return value === undefined ? [] : [[{}, value]]
}

function metric(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  samples: Samples,
  combination: Combination = 'sum',
): Metric {
  const values = samples.map(([labels, value]) => ({ labels, value }))
  return { name, help, type, aggregator: combination, values }
}

export const counter = (name: string, help: string, samples: Samples): Metric => metric('counter', name, help, samples)

export const gauge = (name: string, help: string, samples: Samples, combination?: Combination): Metric =>
  metric('gauge', name, help, samples, combination)

/** A histogram's buckets, cumulative as Prometheus expects them, with its sum and count, for each set of labels. */
export function histogram(name: string, help: string, parts: readonly (readonly [Labels, HistogramStats])[]): Metric {
  const values = parts.flatMap(([labels, { bounds, counts, sum }]) => {
    let count = 0
    const buckets = counts.map((inBucket, index) => {
      count += inBucket
      const le = index < bounds.length ? bounds[index] : '+Inf'
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  })
  return { name, help, type: 'histogram', aggregator: 'sum', values }
}
