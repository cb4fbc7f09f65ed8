/**
 * The figures of the service page, computed by the primary: rates and quantiles between samples, their gaps, keys and rejected
 * requests, and how long they are kept. A service reports every metric that the figures use.
 */
import { join } from 'node:path'
import t from 'tap'
import { createHistogram } from '../../dist/base/histogram.js'
import { version } from '../../dist/base/version.js'
import { type ConsoleState, factGauges, momentGauges } from '../../dist/ops/figures/console-state.js'
import { FiguresHistory } from '../../dist/ops/figures/history.js'
import { quantilesOf } from '../../dist/ops/figures/quantiles.js'
import { counter, evaluate, gauge, histogram, type Table } from '../../dist/ops/metrics/metric.js'
import { readDocument } from '../support/documents.js'
import { first } from '../support/elements.js'
import { metricNames, metricsIn } from '../support/metric-table.js'
import { get } from '../support/service/metrics.js'
import { startServer, until } from '../support/service/server.js'

t.test('values are counted at the first bound that they do not exceed', async (t) => {
  const histogram = createHistogram([1, 2, 5])
  for (const value of [0, 1, 1.001, 2, 4, 5, 5.001, 1000]) histogram.record(value)
  t.strictSame(histogram.read(), { bounds: [1, 2, 5], counts: [2, 2, 2, 2], sum: 1018.002 })
})

t.test('a quantile is interpolated within its bucket', async (t) => {
  for (const [counts, p50, p99] of [
    [[0, 0, 0, 0], undefined, undefined],
    [[100, 100, 100, 100], 0.5, 0.99],
    [[50, 100, 100, 100], 1, 1.98],
    [[0, 0, 100, 100], 3, 3.98],
    [[0, 50, 50, 100], 2, 4],
    [[0, 0, 0, 10], 4, 4],
  ] as const) {
    const [one, two, four, all] = counts
    t.strictSame(
      quantilesOf({ '1': one, '+Inf': all, '2': two, '4': four }),
      { p50, p99, leastS: 1, mostS: 4 },
      counts.join(),
    )
  }
})

interface Counts {
  readonly answered?: number
  readonly failed?: number
  /** Responses within 1 s, and others within 2 s. */
  readonly seconds?: readonly [number, number]
  readonly commits?: readonly [commits: number, writes: number]
  readonly keys?: Readonly<Record<string, number>>
  readonly refused?: number
}

const table: Table<Counts> = {
  topicd_requests_total: counter('', ({ answered = 0, failed = 0 }) => [
    [{ route: '/a', status: '200' }, answered],
    ...(failed > 0 ? [[{ route: '/b', status: '503' }, failed] as const] : []),
  ]),
  topicd_request_duration_seconds: histogram('', ({ seconds: [fast, slow] = [0, 0] }) => [
    [{ route: '/a' }, { bounds: [1, 2], counts: [fast, 0, 0], sum: 9 }],
    [{ route: '/b' }, { bounds: [1, 2], counts: [0, slow, 0], sum: 9 }],
  ]),
  topicd_commit_writes: histogram('', ({ commits: [count, sum] = [0, 0] }) => ({ bounds: [], counts: [count], sum })),
  topicd_key_requests_total: counter('', ({ keys = {} }) =>
    Object.entries(keys).map(([key, count]) => [{ key }, count] as const),
  ),
  topicd_rejected_total: counter('', ({ refused = 0 }) => [
    [{ cause: 'never' }, 0],
    [{ cause: 'no_such_topic' }, refused],
  ]),
  topicd_worker_resident_memory_bytes: gauge('', () => [[{ pid: '1' }, 1]]),
  topicd_connections: gauge('', () => 3),
}

type Sample = readonly [atS: number, counts: Counts]

/** The last sample is for a page. */
function historyOf(samples: readonly Sample[]): FiguresHistory {
  const history = new FiguresHistory()
  for (const [index, [atS, counts]] of samples.entries()) {
    history.add(atS, evaluate(table, counts), index === samples.length - 1)
  }
  return history
}

const momentsOf = (...samples: readonly Sample[]) => historyOf(samples).figures(0).moments

/** @param text such as `102:16+5`: at 102 s, 16 requests were answered, and 5 failed */
function sampleOf(text: string): Sample {
  const [atS = 0, answered = 0, failed = 0] = text.split(/[:+]/).map(Number)
  return [atS, { answered, failed }]
}

t.test('a rate is calculated from samples that are 1 to 8 s apart', async (t) => {
  for (const [name, samples, expected] of [
    ['the first error of its kind counts', '100:10 102:16 104.5:26+5', [undefined, [3, 0], [4, 2]]],
    ['several pages', '100:0 100.1:1 100.9:9 101:10 101.1:11', [undefined, undefined, undefined, [10, 0], [10, 0]]],
    ['a pause', '100:0 108:8 116.1:16 118.1:20', [undefined, [1, 0], undefined, [2, 0]]],
    ['a decreased count', '100:8 102:7', [undefined, undefined]],
  ] as const) {
    const moments = momentsOf(...samples.split(' ').map(sampleOf))
    const rates = moments.map(({ responses }) => responses && [responses['2xx'], responses['5xx']])
    t.strictSame(rates, expected, name)
  }
  const [, last] = momentsOf(sampleOf('102:0'), sampleOf('104:6+2'))
  t.match(last, { routes: { '/a': 3, '/b': 1 }, connections: 3, workerResidentBytes: { 'worker 1': 1 } })
})

t.test('quantiles and means are calculated over the last 30 s', async (t) => {
  const busy: Counts = { seconds: [100, 0], commits: [10, 10] }
  const moments = momentsOf(
    [100, {}],
    [102, busy],
    ...Array.from({ length: 14 }, (_, i): Sample => [104 + 2 * i, busy]),
    [132, { seconds: [100, 10], commits: [11, 15] }],
    [134, { seconds: [100, 20], commits: [12, 20] }],
  )
  t.strictSame(moments[1]?.latencyS, { p50: 0.5, p99: 0.99, leastS: 1, mostS: 2 })
  t.equal(moments[1]?.writesPerCommit, 1)
  t.equal(moments[15]?.latencyS?.p50, 0.5, 'the values of 100 to 102 still count at 130')
  t.strictSame(moments.at(-1)?.latencyS, { p50: 1.5, p99: 1.99, leastS: 1, mostS: 2 }, 'but not at 134')
  t.equal(moments.at(-1)?.writesPerCommit, 5)
})

t.test("the service keeps its samples for ten minutes and a page's samples for half a minute", async (t) => {
  const history = historyOf(Array.from({ length: 130 }, (_, i) => [1000 + 5 * i, { answered: i }]))
  const times = (sinceS = 0) => history.figures(sinceS).moments.map(({ atS }) => atS)
  t.match([times().length, times()[0]], [120, 1050])
  for (let i = 0; i < 50; i++) history.add(1646 + 2 * i, evaluate(table, {}), true)
  t.equal(times().filter((atS) => atS > 1645).length, 16)
  t.strictSame(times(1740), [1742, 1744])
  t.strictSame(times(1744), [], 'the page already has all samples')
  t.equal(times(1745).length, times().length, "the clock of the page's moments was set back")
  history.add(1600, evaluate(table, {}), true)
  t.strictSame(times(), [1600], "the service's clock was set back")
})

t.test('the ten busiest keys and all causes of rejections are named', async (t) => {
  const keys = (each: (number: number) => number) =>
    Object.fromEntries(Array.from({ length: 13 }, (_, i) => [i === 0 ? '__proto__' : `key-${i}`, each(i)]))
  const { keys: named, ...rest } = historyOf([
    [100, { keys: keys(() => 1), refused: 1 }],
    [400, { keys: keys((i) => 1 + i), refused: 5 }],
    [420, { keys: keys((i) => 1 + i + (i < 3 ? 40 : 0)), refused: 8 }],
  ]).figures(0)
  t.strictSame(named.slice(0, 4), [
    { key: 'key-2', perSecond: 2, requests: 42 },
    { key: 'key-1', perSecond: 2, requests: 41 },
    { key: '__proto__', perSecond: 2, requests: 40 },
    { key: 'key-12', perSecond: 0, requests: 12 },
  ])
  t.match(rest, { otherKeys: { count: 3, perSecond: 0, requests: 12 } })
  t.strictSame(rest.refusals, { no_such_topic: 7 })
})

t.test('a running service reports every figure of the console', async (t) => {
  const server = await startServer(t, { workers: 1, dataDir: join(t.testdir(), 'db') })
  await server.post('addAndSet', { path: 'a', value: 1 })
  const { code, stderr } = await server.command('backup', join(t.testdirName, 'copy.mdb'))
  t.equal(code, 0, stderr)
  const { facts = {}, moments } = await until('requests of the key are reported', async () => {
    await server.post('set', { path: 'a', value: 2 })
    const state = JSON.parse((await get(`${server.adminUrl}/console/state`)).text) as ConsoleState
    return state.keys.some(({ key, requests }) => key === 'first' && requests > 0) ? state : undefined
  })
  const moment = moments.at(-1) ?? {}
  const all = { ...facts, ...moment }
  const missing = Object.keys({ ...factGauges, ...momentGauges }).filter((name) => !(name in all))
  t.strictSame(missing, ['certificateExpiresS'], 'there is no certificate')
  t.match(facts, { version, node: process.version, workers: 1, workerVersions: { [version]: 1 }, topics: 1 })
  const name = `worker ${first(server.workerPids())}`
  t.match(moment, { workerResidentBytes: { [name]: Number }, workerLoopDelayS: { [name]: Number } })
})

t.test('every metric named in the sources is in a table', async (t) => {
  const files = ['console-state', 'counts', 'history', 'moment'].map((name) => `src/ops/figures/${name}.ts`)
  const named = files.map(readDocument).flatMap(metricsIn)
  t.ok(named.length > 30 && named.every((name) => metricNames.has(name)), named.join())
})
