/**
 * The rows of a table of metrics, and a snapshot of their values, in the form that prom-client sums and prints. Each process
 * evaluates one table when the primary requests it; until then, the rows cost nothing. The tables are in
 * worker-metrics.ts, writer-metrics.ts and service-metrics.ts.
 */
import type { HistogramStats } from '../../base/histogram.js'

type Labels = Readonly<Record<string, string>>

export type Reading<Value> = Value | readonly (readonly [labels: Labels, value: Value])[]

/** Reads a metric; undefined if there is nothing to report. */
type Read<Sources, Value> = (sources: Sources) => Reading<Value> | undefined

interface Row<Sources> {
  /** When a process exits, its counters and histograms stay in the sums, and its gauges are dropped. */
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Combines the values of several processes. */
  readonly aggregator: 'sum' | 'max'
  readonly read: Read<Sources, number | HistogramStats>
}

export type Table<Sources> = Readonly<Record<string, Row<Sources>>>

interface Sample {
  readonly labels: Labels
  readonly value: number
  /** For a histogram: the name with its suffix. */
  readonly metricName?: string
}

/** A metric of one or several processes. Its sender may run another build, so members are added, never changed. */
export interface Metric extends Omit<Row<never>, 'read'> {
  readonly name: string
  readonly values: readonly Sample[]
}

const rowsOf =
  <Value extends number | HistogramStats>(type: Metric['type']) =>
  <Sources>(help: string, read: Read<Sources, Value>, aggregator: Metric['aggregator'] = 'sum'): Row<Sources> => ({
    type,
    help,
    aggregator,
    read,
  })

export const counter = rowsOf<number>('counter')

export const gauge = rowsOf<number>('gauge')

export const histogram = rowsOf<HistogramStats>('histogram')

export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000
}

export function evaluate<Sources>(table: Table<Sources>, sources: Sources): Metric[] {
  return Object.entries(table).flatMap(([name, { read, ...row }]) => {
    const reading = read(sources)
    if (reading === undefined) return []
    const labelled = typeof reading === 'number' || 'bounds' in reading ? [[{}, reading] as const] : reading
    const values = labelled.flatMap(([labels, value]) =>
      typeof value === 'number' ? [{ labels, value }] : histogramSamples(name, labels, value),
    )
    return [{ name, ...row, values }]
  })
}

/** A histogram's buckets, cumulative as Prometheus expects, with its sum and count. */
function histogramSamples(name: string, labels: Labels, { bounds, counts, sum }: HistogramStats): Sample[] {
  let count = 0
  const buckets = counts.map((inBucket, index) => {
    count += inBucket
    return { metricName: `${name}_bucket`, labels: { le: String(bounds[index] ?? '+Inf'), ...labels }, value: count }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
