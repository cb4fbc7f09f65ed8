/** Every metric of the service, from the tables of its processes, and the metrics that a document names. */
import { serviceTable } from '../../dist/ops/metrics/service-metrics.js'
import { workerTable } from '../../dist/ops/metrics/worker-metrics.js'
import { writerTable } from '../../dist/ops/metrics/writer-metrics.js'

/** A histogram appears without `_bucket`, `_sum` and `_count`. */
export const metricNames: ReadonlySet<string> = new Set(
  Object.keys({ ...serviceTable, ...writerTable, ...workerTable }),
)

/** A name of one of topicd's metrics in a query, a rule or a document. */
const metricName = /\b(?:topicd|process|nodejs)_[a-z0-9_]+\b/g

/** The metrics that a document names, whether or not they exist; series of a histogram count as the histogram. */
export function metricsIn(text: string): string[] {
  const names = (text.match(metricName) ?? []).map((name) => {
    const histogram = name.replace(/_(bucket|sum|count)$/, '')
    return metricNames.has(histogram) ? histogram : name
  })
  return [...new Set(names)]
}
