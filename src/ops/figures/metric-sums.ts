/** The metrics of all processes at one point in time, summed over labels. */
import type { Metric } from '../metrics/metric.js'

type Sample = Metric['values'][number]

export class MetricSums {
  readonly #samples = new Map<string, Sample[]>()

  constructor(metrics: readonly Metric[]) {
    for (const { name, values } of metrics) {
      for (const sample of values) {
        const { metricName = name } = sample
        const samples = this.#samples.get(metricName)
        if (samples === undefined) this.#samples.set(metricName, [sample])
        else samples.push(sample)
      }
    }
  }

  /** The labels of a metric that has one sample. */
  labels(name: string): Sample['labels'] | undefined {
    return this.#samples.get(name)?.[0]?.labels
  }

  /** The sums by label. @param labelOf selects the label from the labels of a sample */
  by(name: string, labelOf: (labels: Sample['labels']) => string | undefined): ReadonlyMap<string, number> {
    const sums = new Map<string, number>()
    for (const { labels, value } of this.#samples.get(name) ?? []) {
      const label = labelOf(labels) ?? ''
      sums.set(label, (sums.get(label) ?? 0) + value)
    }
    return sums
  }

  /** The sums of several metrics, each under its member; metrics that no process reports are omitted. */
  totals<Member extends string>(names: Readonly<Record<Member, string>>): Partial<Record<Member, number>> {
    const totals = Object.entries<string>(names).flatMap(([member, name]) =>
      this.#samples.has(name) ? [[member, this.by(name, () => '').get('')]] : [],
    )
    return Object.fromEntries(totals) as Partial<Record<Member, number>>
  }
}
