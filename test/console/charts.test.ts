/** The charts of the page of the service: their lines, how these look, how high charts are, and what they say in words. */
import t from 'tap'
import { highest, isolatedIn, valuesOf } from '../../dist/console/service/charts/chart-values.js'
import { type Chart, chartsOf, pidsAround, pidsOf, styleOf } from '../../dist/console/service/charts/charts.js'
import { styleAt } from '../../dist/console/service/charts/line-style.js'
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

t.test('a chart is as high as its lines, and as a limit once they are near it', (t) => {
  const connections = (open: number): string[] => [`topicd_connections ${open}`, 'topicd_connections_max 100']
  const free = (bytes: number): string[] => [`topicd_disk_free_bytes ${bytes}`, 'topicd_disk_free_bytes_min 100']
  for (const [title, lines, expected] of [
    ['Connections', [connections(0)], 0],
    ['Connections', [connections(49)], 49],
    ['Connections', [connections(50)], 100],
    ['Connections', [connections(120)], 120],
    [disk, [free(1000)], 1000],
    [disk, [free(150)], 150],
    [disk, [free(10)], 100],
    [disk, [free(1000), free(10)], 1000],
    // A service without a minimum has no chart of the disk.
    [disk, [['topicd_topics 1']], undefined],
  ] as const) {
    const moments = momentsOf(...lines)
    const chart = chartOf(title, moments)
    t.equal(chart && highest(chart, moments), expected, `${title}: ${lines.join()}`)
  }
  t.end()
})

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

t.test('a worker is named next to the charts until 15 s after its end', (t) => {
  const moments = momentsOf(workers(9, 10), ...Array.from({ length: 9 }, () => workers(9)))
  const named = moments.map((moment) => [...pidsAround(moment, moments)].join())
  t.strictSame(named, [...Array.from({ length: 8 }, () => '9,10'), '9', '9'])
  t.end()
})

t.test('a worker keeps its place among the others, and one that is gone leaves it', (t) => {
  const places = new WorkerPlaces()
  const assigned = (...pids: readonly string[]): unknown => Object.fromEntries(places.assign(pids))
  t.strictSame(assigned('7', '8', '9'), { 7: 0, 8: 1, 9: 2 })
  t.strictSame(assigned('8', '9', '5'), { 8: 1, 9: 2, 5: 0 })
  t.strictSame(assigned('9'), { 9: 2 })
  t.strictSame(assigned(), {})
  t.end()
})

t.test('fifteen lines differ in colour or dashes, and red is only what is bad', (t) => {
  const lines = [...Array(16).keys()].map((index) => ({ name: `${index}`, value: () => 1 }))
  const styles = lines.map((line, index) => JSON.stringify(styleOf(line, index)))
  t.equal(new Set(styles).size, 15)
  t.equal(styles[15], styles[0])
  const red = 5
  t.notOk(lines.some((line, index) => styleOf(line, index).colour === red))
  t.strictSame(styleOf({ name: 'limit', value: () => 1, limit: 'upper' }, 1), { colour: red, dash: 'dashed' })
  t.strictSame(styleOf({ name: 'own', value: () => 1, style: styleAt(6) }, 0), { colour: 2, dash: 'dotted' })
  t.end()
})

t.test('a value between two gaps is drawn as a point', (t) => {
  t.strictSame(isolatedIn([1, null, 0, null, 2, 3, null, 4]), [0, 2, 7])
  t.strictSame(isolatedIn([null, 1, 1]), [])
  t.strictSame(isolatedIn([5]), [0])
  t.end()
})
