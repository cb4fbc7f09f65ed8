/**
 * The figures of metrics without a service: the buckets of a histogram, and what the primary keeps for the console:
 * which series, summed how, and how many samples.
 */
import t from 'tap'
import { createHistogram } from '../../dist/base/histogram.js'
import { MetricsHistory } from '../../dist/ops/metrics/history.js'
import { counter, evaluate, gauge, histogram, type Table } from '../../dist/ops/metrics/metric.js'

t.test('values are counted at the first bound that they do not exceed', async (t) => {
  const histogram = createHistogram([1, 2, 5])
  for (const value of [0, 1, 1.001, 2, 4, 5, 5.001, 1000]) histogram.record(value)
  t.strictSame(histogram.read(), { bounds: [1, 2, 5], counts: [2, 2, 2, 2], sum: 1018.002 })
})

const table: Table<{ readonly pid: number; readonly requests: number }> = {
  topicd_requests_total: counter('', ({ requests }) => [
    [{ route: '/a', status: '200' }, requests],
    [{ route: '/b', status: '200' }, 2],
    [{ route: '/b', status: '404' }, 3],
  ]),
  topicd_request_duration_seconds: histogram('', () => [
    [{ route: '/a' }, { bounds: [1], counts: [1, 2], sum: 9 }],
    [{ route: '/b' }, { bounds: [1], counts: [4, 0], sum: 1 }],
  ]),
  topicd_worker_resident_memory_bytes: gauge('', ({ pid }) => [[{ pid: String(pid) }, pid]]),
  topicd_topics: gauge('', () => 7),
}

/** The metrics of a moment, of two workers. */
const metricsOf = (pids: readonly number[], requests = 1) => pids.flatMap((pid) => evaluate(table, { pid, requests }))

t.test('charted series are kept, summed over all other labels', (t) => {
  const history = new MetricsHistory()
  t.strictSame(history.runs(), [])
  history.add(10, metricsOf([1, 2]))
  t.strictSame(history.runs(), [
    {
      series: [
        'topicd_requests_total{status="200"}',
        'topicd_requests_total{status="404"}',
        'topicd_request_duration_seconds_bucket{le="1"}',
        'topicd_request_duration_seconds_bucket{le="+Inf"}',
        'topicd_worker_resident_memory_bytes{pid="1"}',
        'topicd_worker_resident_memory_bytes{pid="2"}',
      ],
      samples: [[10, 6, 6, 10, 14, 1, 2]],
    },
  ])
  t.end()
})

t.test('ten minutes of samples are kept, with names stored once', (t) => {
  const history = new MetricsHistory()
  for (let i = 0; i < 130; i++) history.add(5 * i, metricsOf(i < 100 ? [1, 2] : [1, 3], i))
  const runs = history.runs()
  t.strictSame(
    runs.map(({ samples }) => [samples.length, samples[0]?.[0]]),
    [
      [90, 50],
      [30, 500],
    ],
  )
  t.ok(runs[1]?.series.includes('topicd_worker_resident_memory_bytes{pid="3"}'))
  t.equal(runs[1]?.samples.at(-1)?.[1], 2 * 129 + 4)
  t.end()
})
