/** The charts of the Service page: lines, warnings and text. */
import t from 'tap'
import { type Chart, chartGroupsOf, routesOf, valuesOf, workersOf } from '../../dist/console/service/charts/charts.js'
import { LineStyles } from '../../dist/console/service/charts/line-styles.js'
import type { Moment } from '../../dist/ops/figures/console-state.js'

function chartOf(title: string, moments: readonly Moment[]): Chart | undefined {
  const workers = new LineStyles().assign(workersOf(moments))
  const groups = chartGroupsOf(moments, { workers, routes: new LineStyles().assign(routesOf(moments)) })
  return Object.values(groups)
    .flat()
    .find((chart) => chart.title === title)
}

const disk = 'Free disk space'

t.test('a critical value is shown with a warning', async (t) => {
  for (const [title, gauges, expected] of [
    [disk, { diskFreeBytes: 101, diskFreeBytesMin: 100 }, undefined],
    [disk, { diskFreeBytes: 100, diskFreeBytesMin: 100 }, 'too little'],
    ['Connections', { connections: 9, connectionsMax: 10 }, undefined],
    ['Connections', { connections: 10, connectionsMax: 10 }, 'full'],
    ['Connections', { connectionsMax: 10 }, undefined],
    ['Streams and polls', { streams: 5, polls: 1, listenersMax: 5 }, 'full'],
  ] as const) {
    const moment = { atS: 1, ...gauges }
    const [line] = chartOf(title, [moment])?.lines ?? []
    t.equal(line?.warning?.(moment), expected, JSON.stringify(moment))
  }
})

t.test("a quantile outside its histogram's bounds is shown as < or > the bound", async (t) => {
  for (const [p50, p99, texts] of [
    [0.5, 10, [undefined, '> 10 s']],
    [0.0001, 0.5, [undefined, undefined]],
    [0.00005, 0.000099, ['< 100 µs', '< 100 µs']],
    [undefined, undefined, [undefined, undefined]],
  ] as const) {
    const moment = { atS: 1, latencyS: { p50, p99, leastS: 0.0001, mostS: 10 } }
    const found = chartOf('Latency', [moment])?.lines.map((line) => line.text?.(moment))
    t.strictSame(found, texts, `${p50}, ${p99}`)
  }
})

/** The names and values of a chart's lines. */
const linesOf = (title: string, of: readonly Moment[]): unknown =>
  chartOf(title, of)?.lines.map((line) => [line.name, valuesOf(line, of)])

t.test('each worker and each route has a line in its chart while the last ten minutes include it', async (t) => {
  const moments: readonly Moment[] = [
    { atS: 1, workerResidentBytes: { 'worker 9': 9, 'worker 10': 10 } },
    { atS: 3, workerResidentBytes: { 'worker 9': 9, 'worker 11': 11 }, routes: { '/b': 1 } },
    { atS: 5, workerResidentBytes: { 'worker 11': 11 }, routes: { '/b': 2, '/a': 3 } },
  ]
  t.strictSame(linesOf('Memory per worker', moments), [
    ['worker 9', [9, 9, null]],
    ['worker 10', [10, null, null]],
    ['worker 11', [null, 11, 11]],
  ])
  t.strictSame(linesOf('Memory per worker', moments.slice(2)), [['worker 11', [11]]])
  t.strictSame(linesOf('Requests by route', moments), [
    ['/a', [null, 0, 3]],
    ['/b', [null, 1, 2]],
  ])
})
