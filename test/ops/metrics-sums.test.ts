/**
 * The metrics of a service, combined from the reports of simulated processes: sums, values that outlive a process, and reports
 * of other builds. `ops/metrics` uses real processes.
 */
import t from 'tap'
import { counter, evaluate, gauge, histogram, type Metric, type Table } from '../../dist/ops/metrics/metric.js'
import { Metrics } from '../../dist/ops/metrics/metrics.js'
import { keyNamesCountedMax } from '../../dist/settings/limits.js'
import { at } from '../support/elements.js'
import { collectGarbage } from '../support/garbage.js'
import { until } from '../support/service/server.js'
import { turn } from '../support/turns.js'

/** The table of a simulated process, in which every value is the given number. */
const table: Table<number> = {
  counts_total: counter('Counts.', (value) => value),
  states: gauge('States.', (value) => value),
  worst: gauge('The worst.', (value) => value, 'max'),
  own: gauge('Its own.', (value) => [[{ pid: String(value) }, value]]),
  durations: histogram('Durations.', (value) => ({ bounds: [1], counts: [value, 1], sum: 9 })),
  absent: gauge('Absent.', () => undefined),
}

class SimulatedProcess {
  readonly version = '1.2.3'
  answers = true
  end = (): void => {}
  readonly ended = new Promise<void>((resolve) => (this.end = resolve))

  /** Called for each request. */
  onRequest: (stored: boolean) => void = () => {}

  constructor(public metrics: readonly Metric[] | undefined) {}

  async requestMetrics(stored: boolean): Promise<boolean> {
    this.onRequest(stored)
    return this.answers
  }
}

/** A service with one process per report. */
function serviceOf(...reports: readonly (readonly Metric[] | undefined)[]) {
  const processes = reports.map((metrics) => new SimulatedProcess(metrics))
  const serving = new Set(processes)
  const errors: string[] = []
  const metrics = new Metrics({
    workers: { serving: () => [...serving], restarts: 0 },
    writers: undefined,
    ready: () => true,
    certificateExpiresMs: () => undefined,
    log: { error: (_: object, message: string) => errors.push(message) } as never,
  })
  for (const process of processes) metrics.watch(process)
  /** The service's lines about the matching metrics. */
  const read = async (name: RegExp): Promise<readonly string[]> =>
    (await metrics.read()).split('\n').filter((line) => name.test(line) && !line.startsWith('# TYPE'))
  return { processes, serving, errors, read, figures: (sinceS: number) => metrics.figures(sinceS) }
}

const simulated = /counts_total|states|worst|own\{|durations|absent/

await t.test('values of a metric are summed over the processes', async (t) => {
  const { read } = serviceOf(evaluate(table, 2), evaluate(table, 5))
  t.strictSame(await read(simulated), [
    '# HELP counts_total Counts.',
    'counts_total 7',
    '# HELP states States.',
    'states 7',
    '# HELP worst The worst.',
    'worst 5',
    'own{pid="2"} 2',
    'own{pid="5"} 5',
    '# HELP durations Durations.',
    'durations_bucket{le="1"} 7',
    'durations_bucket{le="+Inf"} 9',
    'durations_sum 18',
    'durations_count 9',
  ])
})

const values = /^(counts_total|states|own\{|durations_count)/

await t.test('counters outlive their process, but gauges do not', async (t) => {
  const { processes, serving, read } = serviceOf(evaluate(table, 2), evaluate(table, 5))
  const leaving = at(processes, 0)
  serving.delete(leaving)
  const left = ['counts_total 7', 'states 5', 'own{pid="5"} 5', 'durations_count 9'].sort()
  t.strictSame([...(await read(values))].sort(), left, 'while it drains')
  leaving.end()
  await leaving.ended
  t.strictSame([...(await read(values))].sort(), left, 'after it has exited')
})

await t.test('only the sums of exited processes stay in memory', async (t) => {
  const { processes, read } = serviceOf(evaluate(table, 2), evaluate(table, 5))
  const counts = processes.map((leaving) => {
    leaving.end()
    return new WeakRef(at(at(leaving.metrics ?? [], 0).values, 0))
  })
  await Promise.all(processes.map(({ ended }) => ended))
  for (const process of processes) process.metrics = undefined
  // An object stays in memory until the turn that made a weak reference to it ends.
  await turn()
  collectGarbage()
  t.strictSame(
    counts.map((count) => count.deref()),
    [undefined, undefined],
  )
  t.ok((await read(values)).includes('counts_total 7'))
})

await t.test('no per-process values are reported for a process that does not respond', async (t) => {
  const { processes, read } = serviceOf(evaluate(table, 2), evaluate(table, 5))
  at(processes, 0).answers = false
  t.strictSame(await read(values), ['counts_total 7', 'states 7', 'own{pid="5"} 5', 'durations_count 9'])
})

await t.test("if the worker that should report the store's metrics exits, another worker reports them", async (t) => {
  const { processes, serving, read } = serviceOf(evaluate(table, 2), evaluate(table, 5))
  const [first, second] = [at(processes, 0), at(processes, 1)]
  first.answers = false
  first.onRequest = () => {
    serving.delete(first)
    first.end()
  }
  second.onRequest = (stored) => {
    second.metrics = evaluate({ stored: gauge('Stored.', () => (stored ? 3 : undefined)) }, undefined)
  }
  t.strictSame(await read(/^stored/), ['stored 3'])
})

await t.test('console pages share samples, at most one per second', async (t) => {
  const { processes, figures } = serviceOf(evaluate(table, 2))
  let samples = 0
  at(processes, 0).onRequest = () => samples++
  const startMs = performance.now()
  await Promise.all([figures(0), figures(0)])
  t.equal(samples, 1)
  await until('another sample is taken', async () => (await figures(0)).moments.length > 1 || undefined)
  t.ok(performance.now() - startMs >= 1000)
})

await t.test('the first keys of the service have their own labels, and all other keys share one label', async (t) => {
  const keysOf = (first: number): Metric[] => {
    const names = ['other', ...Array.from({ length: keyNamesCountedMax }, (_, i) => `key-${first + i}`)]
    return evaluate({ requests_total: counter('Requests.', () => names.map((key) => [{ key }, 1])) }, undefined)
  }
  const { read } = serviceOf(keysOf(0), keysOf(50))
  const lines = await read(/^requests_total/)
  t.equal(lines.length, keyNamesCountedMax + 1)
  for (const line of ['"key-0"} 1', '"key-99"} 2', '"other"} 52'])
    t.ok(lines.includes(`requests_total{key=${line}`), line)
})

await t.test('a process of another build reports its own metrics and does not disturb the others', async (t) => {
  const later = evaluate({ newer: gauge('Newer.', () => 1) }, undefined)
  const strange = [{ name: 'strange', type: 'counter' }] as never
  const { processes, serving, errors, read } = serviceOf(evaluate(table, 2), undefined, later, strange)
  serving.delete(at(processes, 3))
  at(processes, 3).end()
  at(processes, 1).answers = false
  await at(processes, 3).ended
  t.strictSame(await read(/counts_total|newer|strange/), [
    '# HELP counts_total Counts.',
    'counts_total 2',
    '# HELP newer Newer.',
    'newer 1',
  ])
  t.strictSame(errors, ['the counts of a process that exited are lost'])
})
