/**
 * The last ten minutes of the metrics that the console charts, in the primary's memory, so that the charts of a page that
 * is opened do not begin empty. A sample is one number for each series, 8 bytes: with two workers about 50 series, so
 * 50 KB in all, and 2 KB for each further worker. Taking one costs the primary 4 ms, 0.1 % of its time.
 */
import type { Metric } from './metric.js'

/** Close enough together that the page draws a line between two: it takes a pause of more than 6 s for a gap. */
export const sampleMs = 5000

/** Ten minutes. */
const samplesMax = 120

/** The charted metrics, each summed over all labels but these. */
const charted: ReadonlyMap<string, readonly string[]> = new Map([
  ['process_start_time_seconds', []],
  ['process_resident_memory_bytes', []],
  ['topicd_worker_restarts_total', []],
  ['topicd_writer_restarts_total', []],
  ['topicd_requests_total', ['status']],
  ['topicd_request_duration_seconds_bucket', ['le']],
  ['topicd_commit_duration_seconds_bucket', ['le']],
  ['topicd_commit_writes_count', []],
  ['topicd_commit_writes_sum', []],
  ['topicd_writes_in_flight', []],
  ['topicd_connections', []],
  ['topicd_connections_max', []],
  ['topicd_disk_free_bytes', []],
  ['topicd_disk_free_bytes_min', []],
  ['topicd_worker_resident_memory_bytes', ['pid']],
  ['topicd_worker_event_loop_delay_p99_seconds', ['pid']],
])

interface Sample {
  /** Seconds since the epoch. */
  readonly atS: number
  /** The names of its values; samples with the same names share them. */
  readonly series: readonly string[]
  readonly values: Float64Array
}

/** Samples in the order of their time, together where their series are the same. */
export interface MetricsRun {
  /** As in Prometheus's text format, such as `topicd_requests_total{status="200"}`. */
  readonly series: readonly string[]
  /** Of each the time, in seconds since the epoch, and the values in the order of the series. */
  readonly samples: readonly (readonly number[])[]
}

export class MetricsHistory {
  #samples: readonly Sample[] = []

  /** @param metrics of all processes; what is not charted is left out */
  add(atS: number, metrics: readonly Metric[]): void {
    const sums = sumsOf(metrics)
    const names = [...sums.keys()]
    const last = this.#samples.at(-1)?.series
    const series = last?.join() === names.join() ? last : names
    const sample = { atS, series, values: Float64Array.from(sums.values()) }
    this.#samples = [...this.#samples.slice(1 - samplesMax), sample]
  }

  runs(): MetricsRun[] {
    const runs: { series: readonly string[]; samples: number[][] }[] = []
    for (const { atS, series, values } of this.#samples) {
      if (runs.at(-1)?.series !== series) runs.push({ series, samples: [] })
      runs.at(-1)?.samples.push([atS, ...values])
    }
    return runs
  }
}

function sumsOf(metrics: readonly Metric[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { name, values } of metrics) {
    for (const { labels, value, metricName = name } of values) {
      const kept = charted.get(metricName)
      if (kept === undefined) continue
      const series = seriesName(metricName, kept, labels as Readonly<Record<string, unknown>>)
      sums.set(series, (sums.get(series) ?? 0) + value)
    }
  }
  return sums
}

function seriesName(name: string, kept: readonly string[], labels: Readonly<Record<string, unknown>>): string {
  return kept.length === 0 ? name : `${name}{${kept.map((label) => `${label}="${labels[label]}"`).join()}}`
}
