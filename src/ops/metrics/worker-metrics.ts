/** The table of a worker. The primary combines the values of all workers, except values with the label `pid`. */
import type { Keyring } from '../../auth/keyring.js'
import type { ChangesStats } from '../../changes/live-changes.js'
import { connectionsAllowed } from '../../http/connections.js'
import type { HttpServer } from '../../http/server.js'
import { keyNamesCountedMax } from '../../settings/limits.js'
import { StoreError } from '../../store/errors.js'
import type { StoreMonitor, StoreStats } from '../../store/monitoring.js'
import type { LoopDelay } from '../loop-delay.js'
import { type CommitSources, commitTable } from './commit-metrics.js'
import { counter, gauge, histogram, type Reading, secondsOf, type Table } from './metric.js'
import { type ProcessSources, processTable } from './process-metrics.js'
import type { RequestCounter, RouteCounts } from './request-stats.js'

interface WorkerSources extends CommitSources, ProcessSources {
  readonly counter: Pick<RequestCounter, 'routes' | 'rejected'>
  readonly server: Pick<HttpServer, 'connections' | 'waiting' | 'uploads'>
  readonly keyring: Pick<Keyring, 'requests' | 'unreadable'>
  readonly changes: ChangesStats
  readonly changesKeptMin: number
  readonly loopDelay: LoopDelay
  /** Undefined if not requested (only one worker is asked for it), or while the store is unavailable. */
  readonly stored: StoreStats | undefined
}

const byRoute = <Value>({ counter }: WorkerSources, value: (counts: RouteCounts) => Value) =>
  [...counter.routes].map(([route, counts]) => [{ route }, value(counts)] as const)

const ofProcess = (value: number | undefined): Reading<number> =>
  value === undefined ? [] : [[{ pid: String(process.pid) }, value]]

const loopDelayWindow = 'over the last 15 s'

const loopDelayGauge = (what: string, read: (loopDelay: LoopDelay) => number) =>
  gauge<WorkerSources>(
    `Event-loop delay ${loopDelayWindow}, ${what}, in the slowest worker.`,
    ({ loopDelay }) => read(loopDelay),
    'max',
  )

export const workerTable: Table<WorkerSources> = {
  topicd_requests_total: counter('Responses by route and status.', ({ counter }) =>
    [...counter.routes].flatMap(([route, { statuses }]) =>
      [...statuses.entries()]
        .filter(([, count]) => count > 0)
        .map(([status, count]) => [{ route, status: String(status) }, count] as const),
    ),
  ),
  topicd_request_duration_seconds: histogram('Time until the worker responded.', (sources) =>
    byRoute(sources, ({ seconds }) => seconds.read()),
  ),
  topicd_request_bytes_total: counter('Bytes of request bodies.', (sources) =>
    byRoute(sources, ({ bytesIn }) => bytesIn),
  ),
  topicd_upload_bytes_total: counter('Bytes of NDJSON uploads.', ({ server }) => server.uploads().bytes),
  topicd_response_bytes_total: counter('Bytes of responses, without headers.', (sources) =>
    byRoute(sources, ({ bytesOut }) => bytesOut),
  ),
  topicd_rejected_total: counter(
    'Requests and single operations rejected, by error code, and connections closed without a response, by cause.',
    ({ counter }) => [...counter.rejected].map(([cause, count]) => [{ cause }, count]),
  ),
  topicd_key_requests_total: counter(
    `Responses by API key name; all but the first ${keyNamesCountedMax} keys count as "other".`,
    ({ keyring }) => keyring.requests().map(([key, count]) => [{ key }, count]),
  ),
  ...commitTable,
  topicd_changes_deliveries_total: counter('Events sent to streams of changes.', ({ changes }) => changes.deliveries),
  topicd_changes_gone_total: counter(
    'Tokens and streams rejected with since_gone because the log did not reach back far enough.',
    ({ changes }) => changes.goneTokens,
  ),
  topicd_changes_streams: gauge('Open streams of changes.', ({ changes }) => changes.streams),
  topicd_changes_polls: gauge('Long polls: requests that may wait for a change.', ({ changes }) => changes.polls),
  topicd_changes_listeners_max: gauge(
    'Maximum number of streams, and of waiting polls, in all workers together.',
    ({ changes }) => changes.listenersMax,
  ),
  topicd_changes_behind: gauge(
    'Streams that are behind: not all changes have been sent to the client.',
    ({ changes }) => changes.behind,
  ),
  topicd_connections: gauge('Open connections.', ({ server }) => server.connections()),
  topicd_connections_max: gauge('Maximum number of connections in all workers together.', connectionsAllowed),
  topicd_requests_waiting: gauge('Requests waiting for a response.', ({ server }) => server.waiting()),
  topicd_uploads: gauge('Uploads in progress.', ({ server }) => server.uploads().open),
  topicd_event_loop_delay_p50_seconds: loopDelayGauge('median', ({ median }) => median),
  topicd_event_loop_delay_p99_seconds: loopDelayGauge('99th percentile', ({ p99 }) => p99),
  topicd_event_loop_delay_max_seconds: loopDelayGauge('maximum', ({ max }) => max),
  topicd_worker_event_loop_delay_p99_seconds: gauge(
    `Event-loop delay of a worker ${loopDelayWindow}, 99th percentile.`,
    ({ loopDelay }) => ofProcess(loopDelay.p99),
  ),
  topicd_worker_open_fds: gauge('Open file descriptors of a worker.', ({ usage }) => ofProcess(usage.descriptors.open)),
  topicd_worker_max_fds: gauge('Maximum number of open file descriptors of a worker.', ({ usage }) =>
    ofProcess(usage.descriptors.max),
  ),
  topicd_worker_resident_memory_bytes: gauge('Resident memory of a worker.', ({ usage }) =>
    ofProcess(usage.memory.rss),
  ),
  ...processTable,
  topicd_topics: gauge('Topics stored.', ({ stored }) => stored?.topics),
  topicd_store_bytes: gauge('Size of the store.', ({ stored }) => stored?.bytes),
  topicd_last_backup_timestamp_seconds: gauge(
    'Time when the last backup finished, in seconds since the epoch.',
    ({ stored }) => secondsOf(stored?.backupMs),
  ),
  topicd_changes_kept: gauge('Changes in the log.', ({ stored }) => stored?.log.changes),
  topicd_changes_kept_seconds: gauge(
    'Age of the oldest change in the log, in seconds.',
    ({ stored }) => stored && Math.max(0, (Date.now() - stored.log.sinceMs) / 1000),
  ),
  topicd_changes_kept_min: gauge(
    'Configured number of changes to keep in the log; older ones are removed.',
    ({ stored, changesKeptMin }) => stored && changesKeptMin,
  ),
}

/** Undefined while the store is unavailable; everything else is still reported. */
export async function readStored(store: StoreMonitor): Promise<StoreStats | undefined> {
  try {
    return await store.stats()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}
