/**
 * One metric, in the form in which prom-client's own workers send theirs to be summed. What is measured is decided in
 * worker-metrics.ts and metrics.ts.
 */
import type { HistogramStats } from '../histogram.js'

type Labels = Readonly<Record<string, string>>
export type Samples = readonly (readonly [labels: Labels, value: number])[]
type Combination = 'sum' | 'min' | 'max'

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: Combination
  readonly values: readonly { readonly labels: object; readonly value: number; readonly metricName?: string }[]
}

/** A sample without labels, where there is a value. */
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
