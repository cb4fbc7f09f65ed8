/** One reading of the metrics: the figures that the page needs, by its names. Nothing is compared or formatted here. */
import { type Buckets, bucketsOf } from './buckets.js'
import { type MetricsText, parseMetricsText } from './metrics-text.js'

/** Since the start; redirections and the like count as 2xx. */
export interface Answers {
  readonly '2xx': number
  readonly '4xx': number
  readonly '5xx': number
}

export interface WorkerReading {
  readonly pid: string
  readonly residentBytes: number | undefined
  readonly loopDelayP99S: number | undefined
}

/** Times are seconds since the epoch. Figures that the service does not report are undefined. */
export interface Reading {
  /** The time of the request, by the browser's clock. */
  readonly atS: number
  /** The duration of the request; its counts are of a moment within it. */
  readonly tookS: number
  /** The same moment on the service's clock, which all its timestamps use. */
  readonly serviceS: number
  readonly startedS: number | undefined
  readonly version: string | undefined
  readonly node: string | undefined
  readonly workers: number | undefined
  readonly workerVersions: readonly { readonly version: string; readonly workers: number }[]
  readonly restarts: number | undefined
  /** 1 or 0; undefined if the engine has no writer. */
  readonly writerUp: number | undefined
  /** 1 if it is loaded, else 0. */
  readonly writerSpareUp: number | undefined
  readonly writerRestarts: number | undefined
  readonly reload: { readonly successful: boolean; readonly successS: number } | undefined
  readonly backupS: number | undefined
  readonly certificateExpiresS: number | undefined
  readonly topics: number | undefined
  readonly storeBytes: number | undefined
  readonly answers: Answers
  readonly requestSeconds: Buckets
  readonly commitSeconds: Buckets
  readonly commits: number
  readonly committedWrites: number
  readonly writesInFlight: number | undefined
  readonly connections: number | undefined
  readonly connectionsMax: number | undefined
  readonly residentBytes: number | undefined
  readonly perWorker: readonly WorkerReading[]
  readonly diskFreeBytes: number | undefined
  readonly diskFreeBytesMin: number | undefined
}

export function readingOf(text: string, times: Pick<Reading, 'atS' | 'tookS' | 'serviceS'>): Reading {
  const metrics = parseMetricsText(text)
  const { sum } = metrics
  const build = metrics.samples('topicd_build_info')[0]?.labels
  return {
    ...times,
    startedS: sum('process_start_time_seconds'),
    version: build?.version,
    node: build?.node,
    workers: sum('topicd_workers'),
    workerVersions: metrics
      .samples('topicd_workers_by_version')
      .map(({ labels: { version = 'unknown' }, value }) => ({ version, workers: value })),
    restarts: sum('topicd_worker_restarts_total'),
    writerUp: sum('topicd_writer_up'),
    writerSpareUp: sum('topicd_writer_spare_up'),
    writerRestarts: sum('topicd_writer_restarts_total'),
    reload: reloadOf(metrics),
    backupS: sum('topicd_last_backup_timestamp_seconds'),
    certificateExpiresS: sum('topicd_certificate_expiry_timestamp_seconds'),
    topics: sum('topicd_topics'),
    storeBytes: sum('topicd_store_bytes'),
    answers: answersOf(metrics),
    requestSeconds: bucketsOf(metrics, 'topicd_request_duration_seconds'),
    commitSeconds: bucketsOf(metrics, 'topicd_commit_duration_seconds'),
    commits: sum('topicd_commit_writes_count') ?? 0,
    committedWrites: sum('topicd_commit_writes_sum') ?? 0,
    writesInFlight: sum('topicd_writes_in_flight'),
    connections: sum('topicd_connections'),
    connectionsMax: sum('topicd_connections_max'),
    residentBytes: sum('process_resident_memory_bytes'),
    perWorker: workersOf(metrics),
    diskFreeBytes: sum('topicd_disk_free_bytes'),
    diskFreeBytesMin: sum('topicd_disk_free_bytes_min'),
  }
}

function reloadOf({ sum }: MetricsText): Reading['reload'] {
  const successS = sum('topicd_config_last_reload_success_timestamp_seconds')
  if (successS === undefined) return undefined
  return { successful: sum('topicd_config_last_reload_successful') === 1, successS }
}

function answersOf(metrics: MetricsText): Answers {
  const counts = { '2xx': 0, '4xx': 0, '5xx': 0 }
  for (const { labels, value } of metrics.samples('topicd_requests_total')) {
    const status = Number(labels.status)
    counts[status >= 500 ? '5xx' : status >= 400 ? '4xx' : '2xx'] += value
  }
  return counts
}

/** By their process id, so that a worker keeps its place. */
function workersOf(metrics: MetricsText): WorkerReading[] {
  const memory = ofWorkers(metrics, 'topicd_worker_resident_memory_bytes')
  const delays = ofWorkers(metrics, 'topicd_worker_event_loop_delay_p99_seconds')
  return [...new Set([...memory.keys(), ...delays.keys()])]
    .sort((a, b) => Number(a) - Number(b))
    .map((pid) => ({ pid, residentBytes: memory.get(pid), loopDelayP99S: delays.get(pid) }))
}

function ofWorkers(metrics: MetricsText, name: string): ReadonlyMap<string, number> {
  return new Map(metrics.samples(name).map(({ labels: { pid = '' }, value }) => [pid, value]))
}
