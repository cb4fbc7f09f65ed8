/**
 * One worker's statistics as metrics: counts, which only grow and are kept after the worker's end, and its current
 * state. Their names and help texts are defined here only; those of the service itself are in metrics.ts.
 */
import type { HistogramStats } from '../../base/histogram.js'
import { keyNamesCountedMax } from '../../settings/limits.js'
import type { StoreStats } from '../../store/monitoring.js'
import type { KeyLabels } from './key-labels.js'
import { counter, gauge, histogram, type Metric, one, type Samples } from './metric.js'
import type { WorkerStats } from './worker-stats.js'

type ProcessStats = Pick<WorkerStats, 'cpuSeconds' | 'residentBytes' | 'heapBytes' | 'logLinesDropped'>

const emptyHistogram: HistogramStats = { bounds: [], counts: [0], sum: 0 }

/** The counts of any process. */
export function processCounts({ cpuSeconds: { user, system }, logLinesDropped }: ProcessStats): Metric[] {
  return [
    counter('topicd_log_lines_dropped_total', 'Log lines that could not be written.', one(logLinesDropped)),
    counter('process_cpu_user_seconds_total', 'User CPU time of all processes, in seconds.', one(user)),
    counter('process_cpu_system_seconds_total', 'System CPU time of all processes, in seconds.', one(system)),
    counter('process_cpu_seconds_total', 'CPU time of all processes, in seconds.', one(user + system)),
  ]
}

/** The current memory of any process. */
export function processMemory({ residentBytes, heapBytes }: ProcessStats): Metric[] {
  return [
    gauge(
      'process_resident_memory_bytes',
      'Resident memory of all processes; shared pages count in each.',
      one(residentBytes),
    ),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use, of all processes.', one(heapBytes)),
  ]
}

/** The counts of a worker, which are kept after its end. @param keyLabels the same for all workers of a service */
export function countsOf(stats: WorkerStats, keyLabels: KeyLabels): Metric[] {
  const { routes, rejected, keyRequests = [], commits, expired } = stats
  const perRoute = (value: (route: WorkerStats['routes'][number]) => number): Samples =>
    routes.map((route) => [{ route: route.route }, value(route)])
  return [
    counter(
      'topicd_requests_total',
      'Requests answered, by route and status.',
      routes.flatMap(({ route, statuses }) =>
        Object.entries(statuses).map(([status, count]) => [{ route, status }, count] as const),
      ),
    ),
    histogram(
      'topicd_request_duration_seconds',
      'Time that a worker took to respond.',
      routes.map(({ route, seconds }) => [{ route }, seconds]),
    ),
    counter(
      'topicd_request_bytes_total',
      'Bytes of request bodies.',
      perRoute(({ bytesIn }) => bytesIn),
    ),
    counter('topicd_upload_bytes_total', 'Bytes of uploads, line by line.', one(stats.uploads?.bytes ?? 0)),
    counter(
      'topicd_response_bytes_total',
      'Bytes of responses, without headers.',
      perRoute(({ bytesOut }) => bytesOut),
    ),
    counter(
      'topicd_rejected_total',
      'Requests and single operations refused, by error code, and connections closed without a response, by cause.',
      Object.entries(rejected).map(([cause, count]) => [{ cause }, count]),
    ),
    counter(
      'topicd_key_requests_total',
      `Requests answered, by API key name; all but the first ${keyNamesCountedMax} keys count as "other".`,
      [...keyLabels.labelled(keyRequests)].map(([key, count]) => [{ key }, count]),
    ),
    ...commitCounts({ commits, expired }),
    ...changesCounts(stats),
    ...processCounts(stats),
  ]
}

function changesCounts({ changes }: WorkerStats): Metric[] {
  const { deliveries = 0, goneTokens = 0 } = changes ?? {}
  const goneHelp = 'Tokens and streams refused with since_gone: the log did not go back far enough.'
  return [
    counter('topicd_changes_deliveries_total', 'Events sent to streams of changes.', one(deliveries)),
    counter('topicd_changes_gone_total', goneHelp, one(goneTokens)),
  ]
}

/** The counts of a process that commits: of the writer or, on PostgreSQL, of each worker. */
export function commitCounts({
  commits,
  expired,
  unreadable: { topics, keys } = { topics: 0, keys: 0 },
}: Pick<WorkerStats, 'commits' | 'expired' | 'unreadable'>): Metric[] {
  return [
    counter('topicd_topics_expired_total', 'Topics removed by a REMOVAL policy.', one(expired)),
    counter('topicd_unreadable_total', 'Stored records that cannot be read, and were skipped, by kind.', [
      [{ kind: 'removal' }, topics],
      [{ kind: 'api_key' }, keys],
    ]),
    counter('topicd_writes_total', 'Writes given to the store.', one(commits?.writes ?? 0)),
    counter('topicd_writes_failed_total', 'Writes whose commit failed.', one(commits?.failed ?? 0)),
    histogram('topicd_commit_duration_seconds', 'Time that a commit took, from its first write until it was on disk.', [
      [{}, commits?.seconds ?? emptyHistogram],
    ]),
    histogram('topicd_commit_writes', 'Writes that one commit made durable together.', [
      [{}, commits?.batches ?? emptyHistogram],
    ]),
  ]
}

/** The writes of a process that commits. */
export function writesInFlight({ commits }: Pick<WorkerStats, 'commits'>): Metric {
  return gauge('topicd_writes_in_flight', 'Writes waiting for their commit.', one(commits?.inFlight ?? 0))
}

/** The current state of a worker. @param isCurrent whether it answered just now */
export function stateOf(stats: WorkerStats, isCurrent: boolean): Metric[] {
  const { connections, connectionsMax, waiting, stored, loopDelay, pid, descriptors } = stats
  // A worker of an older build does not send its pid. Of one that does not answer, nothing is known now.
  const ofWorker = (value: number | undefined): Samples =>
    value === undefined || pid === undefined || !isCurrent ? [] : [[{ pid: String(pid) }, value]]
  return [
    gauge('topicd_connections', 'Open connections.', one(connections)),
    gauge('topicd_connections_max', 'Connections that all workers together accept.', one(connectionsMax)),
    gauge('topicd_worker_open_fds', 'Open file descriptors of a worker.', ofWorker(descriptors?.open)),
    gauge('topicd_worker_max_fds', 'File descriptors that a worker may have open.', ofWorker(descriptors?.max)),
    gauge('topicd_worker_resident_memory_bytes', 'Resident memory of a worker.', ofWorker(stats.residentBytes)),
    gauge('topicd_requests_waiting', 'Requests waiting for a response.', one(waiting)),
    gauge('topicd_uploads', 'Uploads that are being received.', one(stats.uploads?.open ?? 0)),
    writesInFlight(stats),
    ...changesState(stats),
    gauge('topicd_event_loop_delay_p50_seconds', loopDelayHelp('in the median'), one(loopDelay.median), 'max'),
    gauge('topicd_event_loop_delay_p99_seconds', loopDelayHelp('at the 99th percentile'), one(loopDelay.p99), 'max'),
    gauge('topicd_event_loop_delay_max_seconds', loopDelayHelp('at most'), one(loopDelay.max), 'max'),
    gauge(
      'topicd_worker_event_loop_delay_p99_seconds',
      `How late timers of a worker were at the 99th percentile ${loopDelayWindow}.`,
      ofWorker(loopDelay.p99),
    ),
    ...processMemory(stats),
    ...(stored === undefined ? [] : [...storedState(stored), ...logState(stats, stored)]),
  ]
}

function changesState({ changes }: WorkerStats): Metric[] {
  if (changes === undefined) return []
  const { streams, polls, listenersMax, behind } = changes
  return [
    gauge('topicd_changes_streams', 'Open streams of changes.', one(streams)),
    gauge('topicd_changes_polls', 'Requests that may wait for a change.', one(polls)),
    gauge(
      'topicd_changes_listeners_max',
      'Streams, and waiting polls, that all workers together accept.',
      one(listenersMax),
    ),
    gauge('topicd_changes_behind', 'Streams whose clients have not been sent everything yet.', one(behind)),
  ]
}

function logState({ changesKeptMin }: WorkerStats, { log }: StoreStats): Metric[] {
  if (log === undefined) return []
  const seconds = Math.max(0, (Date.now() - log.sinceMs) / 1000)
  const minHelp = 'Changes that the log is to keep; older ones are removed.'
  return [
    gauge('topicd_changes_kept', 'Changes that the log has.', one(log.changes)),
    gauge('topicd_changes_kept_seconds', 'How far back the log goes, in seconds.', one(seconds)),
    gauge('topicd_changes_kept_min', minHelp, one(changesKeptMin)),
  ]
}

const loopDelayWindow = 'over the last 15 s'

function loopDelayHelp(what: string): string {
  return `How late timers were ${what} ${loopDelayWindow}, in the worst worker.`
}

function storedState({ topics, bytes, backupMs }: StoreStats): Metric[] {
  const backupHelp = 'When the last backup finished, in seconds since the epoch.'
  return [
    gauge('topicd_topics', 'Topics stored.', one(topics)),
    gauge('topicd_store_bytes', 'Size of the store.', one(bytes)),
    ...(backupMs === undefined
      ? []
      : [gauge('topicd_last_backup_timestamp_seconds', backupHelp, one(backupMs / 1000))]),
  ]
}
