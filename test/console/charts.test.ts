/** The charts of the page of the service: their lines, and what they say in words. */
import t from 'tap'
import { valuesOf } from '../../dist/console/service/charts/chart-values.js'
import { type Chart, chartsOf, pidsOf } from '../../dist/console/service/charts/charts.js'
import { History, type Moment } from '../../dist/console/service/history.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { WorkerPlaces } from '../../dist/console/service/worker-places.js'

/** Moments with these metrics, from 1 s on, two seconds apart. */
function momentsOf(...texts: readonly (readonly string[])[]): readonly Moment[] {
  const history = new History()
  for (const [index, lines] of texts.entries()) {
    const atS = 1 + 2 * index
    history.add(readingOf(lines.join('\n'), { atS, tookS: 0, serviceS: atS }))
  }
  return history.moments
}

const noWorkers: ReadonlyMap<string, number> = new Map()

function chartOf(title: string, moments: readonly Moment[], places = noWorkers): Chart | undefined {
  return chartsOf(moments, places).find((chart) => chart.title === title)
}

const disk = 'Free disk space'

t.test('a value that is bad has a warning in words', (t) => {
  for (const [title, lines, expected] of [
    [disk, ['topicd_disk_free_bytes 101', 'topicd_disk_free_bytes_min 100'], undefined],
    [disk, ['topicd_disk_free_bytes 100', 'topicd_disk_free_bytes_min 100'], 'too little'],
    ['Connections', ['topicd_connections 9', 'topicd_connections_max 10'], undefined],
    ['Connections', ['topicd_connections 10', 'topicd_connections_max 10'], 'full'],
    ['Connections', ['topicd_connections_max 10'], undefined],
  ] as const) {
    const moments = momentsOf(lines)
    const [line] = chartOf(title, moments)?.lines ?? []
    const point = moments[0]?.point
    t.equal(point && line?.warning?.(point), expected, lines.join())
  }
  t.end()
})

t.test('a quantile beyond the bounds of its histogram is shown as beyond them', (t) => {
  const buckets = (...counts: readonly number[]): string[] =>
    ['0.0001', '1', '10', '+Inf'].map(
      (bound, index) => `topicd_request_duration_seconds_bucket{le="${bound}"} ${counts[index]}`,
    )
  for (const [counts, p50, p99] of [
    [[99, 100, 100, 200], undefined, '> 10 s'],
    [[100, 200, 200, 200], undefined, undefined],
    [[200, 200, 200, 200], '< 100 µs', '< 100 µs'],
    [[0, 0, 0, 0], undefined, undefined],
  ] as const) {
    const moments = momentsOf(buckets(0, 0, 0, 0), buckets(...counts))
    const point = moments[1]?.point
    const texts = chartOf('Latency', moments)?.lines.map((line) => point && line.text?.(point))
    t.strictSame(texts, [p50, p99], counts.join())
  }
  t.end()
})

const workers = (...pids: readonly number[]): string[] =>
  pids.map((pid) => `topicd_worker_resident_memory_bytes{pid="${pid}"} ${pid}`)

t.test('each worker has a line while it is in the ten minutes', (t) => {
  const moments = momentsOf(workers(10, 9), workers(9, 11), workers(11))
  const linesOf = (of: readonly Moment[]): unknown =>
    chartOf('Memory per worker', of, new WorkerPlaces().assign(pidsOf(of)))?.lines.map((line) => [
      line.name,
      valuesOf(line, of),
    ])
  t.strictSame(linesOf(moments), [
    ['worker 9', [9, 9, null]],
    ['worker 10', [10, null, null]],
    ['worker 11', [null, 11, 11]],
  ])
  t.strictSame(linesOf(moments.slice(2)), [['worker 11', [11]]])
  t.end()
})
