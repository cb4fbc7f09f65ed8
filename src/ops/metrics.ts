/**
 * Metrics in Prometheus's text format: the workers' figures, summed, and the primary's own. Nothing is kept here between
 * two readings but the counts of workers that are gone, so that no counter ever falls when a worker is replaced.
 *
 * A killed worker takes with it what it counted since the last reading.
 */
import { AggregatorRegistry } from 'prom-client'
import type { DistributionFigures } from '../distribution.js'
import { version } from '../version.js'
import type { WorkerFigures } from './figures.js'

/** How long a scrape waits for a worker; one that is slower is counted as it last was. */
const figuresMsMax = 1000

/** A worker as it is seen from here. */
export interface Measured {
  /** What it last told of itself. */
  readonly figures: WorkerFigures | undefined
  readonly ended: Promise<unknown>
  /** Has it tell them anew, with `stored` the store's as well; resolves when it has, or after `withinMs`. */
  measure(stored: boolean, withinMs: number): Promise<void>
}

export interface MetricsOptions {
  /** Workers that can be asked. */
  readonly serving: () => readonly Measured[]
  readonly restarts: () => number
  readonly ready: () => boolean
}

export interface Metrics {
  readonly contentType: string
  /** From now on the worker's figures count, also after its end. */
  watch(worker: Measured): void
  /** Asks every worker, and gives the text. Readings at the same time share one round of questions. */
  read(): Promise<string>
}

type Labels = Readonly<Record<string, string>>
type Samples = readonly (readonly [labels: Labels, value: number])[]
type Combination = 'sum' | 'min' | 'max'

/** One metric in the form in which prom-client's own workers send theirs. */
interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregator: Combination
  readonly values: readonly { readonly labels: object; readonly value: number; readonly metricName?: string }[]
}

function metric(type: 'counter' | 'gauge', name: string, help: string, samples: Samples, combination: Combination = 'sum'): Metric {
  const values = samples.map(([labels, value]) => ({ labels, value }))
  return { name, help, type, aggregator: combination, values }
}

const counter = (name: string, help: string, samples: Samples): Metric => metric('counter', name, help, samples)

const gauge = (name: string, help: string, samples: Samples, combination?: Combination): Metric =>
  metric('gauge', name, help, samples, combination)

function histogram(name: string, help: string, parts: readonly (readonly [Labels, DistributionFigures])[]): Metric {
  const values = parts.flatMap(([labels, { bounds, counts, sum }]) => {
    let count = 0
    const buckets = counts.map((inBucket, place) => {
      count += inBucket
      const le = place < bounds.length ? bounds[place] : '+Inf'
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
    })
    return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }]
  })
  return { name, help, type: 'histogram', aggregator: 'sum', values }
}

const nothing: DistributionFigures = { bounds: [], counts: [0], sum: 0 }

/** What lasts of a worker: everything that only grows. */
function countsOf({ routes, rejected, commits, expired, cpuSeconds }: WorkerFigures): Metric[] {
  const perRoute = (value: (route: WorkerFigures['routes'][number]) => number): Samples =>
    routes.map((route) => [{ route: route.route }, value(route)])
  return [
    counter(
      'topicd_requests_total',
      'Requests answered, by route and status.',
      routes.flatMap(({ route, statuses }) => Object.entries(statuses).map(([status, count]) => [{ route, status }, count] as const)),
    ),
    histogram(
      'topicd_request_duration_seconds',
      'Time that a worker took for an answer; of those given at once, one in 16 is timed and stands for the others.',
      routes.map(({ route, seconds }) => [{ route }, seconds]),
    ),
    counter('topicd_request_bytes_total', 'Bytes of request bodies.', perRoute(({ bytesIn }) => bytesIn)),
    counter('topicd_response_bytes_total', 'Bytes of answers, without headers.', perRoute(({ bytesOut }) => bytesOut)),
    counter(
      'topicd_rejected_total',
      'Requests refused, by the code of the answer; and connections closed without one, by the cause.',
      Object.entries(rejected).map(([cause, count]) => [{ cause }, count]),
    ),
    counter('topicd_topics_expired_total', 'Topics removed by a REMOVAL policy.', [[{}, expired]]),
    counter('topicd_writes_total', 'Writes given to the store.', [[{}, commits?.writes ?? 0]]),
    counter('topicd_writes_failed_total', 'Writes whose commit failed.', [[{}, commits?.failed ?? 0]]),
    histogram(
      'topicd_commit_duration_seconds',
      'Time that a commit took, from its first write until it was on disk.',
      [[{}, commits?.seconds ?? nothing]],
    ),
    histogram('topicd_commit_writes', 'Writes that one commit made durable together.', [[{}, commits?.batches ?? nothing]]),
    counter('process_cpu_user_seconds_total', 'User CPU time of all processes, in seconds.', [[{}, cpuSeconds.user]]),
    counter('process_cpu_system_seconds_total', 'System CPU time of all processes, in seconds.', [[{}, cpuSeconds.system]]),
    counter('process_cpu_seconds_total', 'CPU time of all processes, in seconds.', [[{}, cpuSeconds.user + cpuSeconds.system]]),
  ]
}

/** What is so at the moment. */
function stateOf({ connections, waiting, commits, stored, diskFreeBytes, loopDelay, ...process }: WorkerFigures): Metric[] {
  const metrics = [
    gauge('topicd_connections', 'Open connections.', [[{}, connections]]),
    gauge('topicd_requests_waiting', 'Requests that wait for their answer.', [[{}, waiting]]),
    gauge('topicd_writes_in_flight', 'Writes that wait for their commit.', [[{}, commits?.inFlight ?? 0]]),
    gauge('topicd_disk_free_bytes', 'Free space of the data directory\'s file system.', [[{}, diskFreeBytes]], 'min'),
    gauge(
      'topicd_event_loop_delay_seconds',
      'How late timers were since the last scrape, of the worker where it was worst.',
      [
        [{ quantile: '0.5' }, loopDelay.median],
        [{ quantile: '0.99' }, loopDelay.p99],
        [{ quantile: '1' }, loopDelay.max],
      ],
      'max',
    ),
    gauge('process_resident_memory_bytes', 'Resident memory of all processes; shared pages count in each.', [[{}, process.residentBytes]]),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use, of all processes.', [[{}, process.heapBytes]]),
  ]
  if (stored === undefined) return metrics
  return [
    ...metrics,
    gauge('topicd_topics', 'Topics stored.', [[{}, stored.topics]]),
    gauge('topicd_store_bytes', 'Size of the store.', [[{}, stored.bytes]]),
  ]
}

export function createMetrics({ serving, restarts, ready }: MetricsOptions): Metrics {
  const watched = new Set<Measured>()
  let gone: readonly Metric[] = []
  let reading: Promise<string> | undefined

  async function add(to: readonly Metric[], metrics: readonly Metric[]): Promise<readonly Metric[]> {
    const sum = await AggregatorRegistry.aggregate([to, metrics] as object[]).getMetricsAsJSON()
    return sum as unknown as readonly Metric[]
  }

  let adding: Promise<void> = Promise.resolve()

  function retire(worker: Measured): void {
    adding = adding.then(async () => {
      if (worker.figures !== undefined) gone = await add(gone, countsOf(worker.figures))
      watched.delete(worker)
    })
  }

  function ownMetrics(): Metric[] {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    return [
      gauge('topicd_build_info', 'Always 1; the labels tell the versions.', [[{ version, node: process.version }, 1]]),
      gauge('topicd_ready', 'Whether /readyz answers 200.', [[{}, ready() ? 1 : 0]]),
      gauge('topicd_workers', 'Workers that serve.', [[{}, serving().length]]),
      counter('topicd_worker_restarts_total', 'Workers started in the place of one that died.', [[{}, restarts()]]),
      counter('process_cpu_user_seconds_total', '', [[{}, user / 1e6]]),
      counter('process_cpu_system_seconds_total', '', [[{}, system / 1e6]]),
      counter('process_cpu_seconds_total', '', [[{}, (user + system) / 1e6]]),
      gauge('process_resident_memory_bytes', '', [[{}, rss]]),
      gauge('nodejs_heap_size_used_bytes', '', [[{}, heapUsed]]),
      gauge('process_start_time_seconds', 'When the service was started.', [[{}, performance.timeOrigin / 1000]]),
    ]
  }

  async function readAll(): Promise<string> {
    const asked = serving()
    await Promise.all(asked.map((worker, place) => worker.measure(place === 0, figuresMsMax)))
    await adding
    const workers = [...watched].flatMap(({ figures }) => (figures === undefined ? [] : [figures]))
    const states = asked.flatMap(({ figures }) => (figures === undefined ? [] : [stateOf(figures)]))
    const parts = [...workers.map(countsOf), gone, ...states, ownMetrics()]
    return AggregatorRegistry.aggregate(parts as object[]).metrics()
  }

  return {
    contentType: AggregatorRegistry.PROMETHEUS_CONTENT_TYPE,
    watch(worker) {
      watched.add(worker)
      void worker.ended.then(() => retire(worker))
    },
    read() {
      reading ??= readAll().finally(() => (reading = undefined))
      return reading
    },
  }
}
