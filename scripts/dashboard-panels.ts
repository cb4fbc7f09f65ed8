/**
 * What the Grafana dashboard shows: its rows of panels, and the queries of each. dashboard.ts makes the file of it; the
 * explanation and the unit of a panel are those of its metrics.
 */

export interface Query {
  readonly expr: string
  readonly legend: string
}

export interface Panel {
  readonly title: string
  /** A unit of Grafana, where the metric's name does not give it. */
  readonly unit?: string
  readonly queries: readonly Query[]
  /** Of a single number: which values are shown in red. */
  readonly bad?: { readonly below: number } | { readonly from: number }
}

export interface Row {
  readonly title: string
  /** Whether its panels are single numbers, seen at once; any other row is closed until someone opens it. */
  readonly isSummary?: true
  readonly panels: readonly Panel[]
}

/** Metrics that no panel shows, each with the reason. */
export const notShown: ReadonlyMap<string, string> = new Map([
  ['process_cpu_seconds_total', 'the sum of user and system time, which are shown stacked'],
])

const chosen = '{instance=~"$instance"}'

/** What a label adds to a legend. */
const shown = (labels: readonly string[]): string => ['instance', ...labels].map((label) => `{{${label}}}`).join(' ')

const by = (labels: readonly string[]): string => `sum by (${['instance', ...labels].join(', ')})`

/** How fast a counter grows, for each instance and these labels. */
const rate = (name: string, ...labels: readonly string[]): Query => ({
  expr: `${by(labels)} (rate(${name}${chosen}[$__rate_interval]))`,
  legend: shown(labels),
})

/** The median and the 99th percentile of a histogram. */
const quantiles = (name: string, ...labels: readonly string[]): Query[] =>
  ['0.5', '0.99'].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, ${by([...labels, 'le'])} (rate(${name}_bucket${chosen}[$__rate_interval])))`,
    legend: `${shown(labels)} p${Number(quantile) * 100}`,
  }))

/** A gauge as it is. */
const gauge = (name: string, ...labels: readonly string[]): Query => ({
  expr: `${name}${chosen}`,
  legend: shown(labels),
})

/** The query, with words after its legend. */
const as = (query: Query, words: string): Query => ({ ...query, legend: `${query.legend} ${words}` })

/** How long ago the moment was that a gauge holds. */
const ago = (name: string): Query => ({ expr: `time() - ${name}${chosen}`, legend: shown([]) })

/** Server errors per second; 0 rather than nothing where there was none yet. */
const serverErrors: Query = {
  expr:
    `sum by (instance) (rate(topicd_requests_total{instance=~"$instance",status=~"5.."}[$__rate_interval])) ` +
    `or sum by (instance) (0 * topicd_ready${chosen})`,
  legend: shown([]),
}

/** The 99th percentile of a histogram, over all its labels. */
const p99 = (name: string): Query => ({
  expr: `histogram_quantile(0.99, sum by (instance, le) (rate(${name}_bucket${chosen}[$__rate_interval])))`,
  legend: shown([]),
})

export const rows: readonly Row[] = [
  {
    title: 'Summary',
    isSummary: true,
    panels: [
      { title: 'Ready', queries: [gauge('topicd_ready')], bad: { below: 1 } },
      { title: 'Requests', unit: 'reqps', queries: [rate('topicd_requests_total')] },
      { title: 'Server errors', unit: 'reqps', queries: [serverErrors], bad: { from: 0.001 } },
      { title: 'Response time, p99', queries: [p99('topicd_request_duration_seconds')] },
      { title: 'Commit time, p99', queries: [p99('topicd_commit_duration_seconds')] },
      { title: 'Topics in the store', queries: [gauge('topicd_topics')] },
      { title: 'Free space', queries: [gauge('topicd_disk_free_bytes')] },
      {
        title: 'Worker restarts in the last hour',
        queries: [{ expr: `increase(topicd_worker_restarts_total${chosen}[1h])`, legend: shown([]) }],
        bad: { from: 1 },
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      { title: 'Requests by route', unit: 'reqps', queries: [rate('topicd_requests_total', 'route')] },
      { title: 'Requests by status', unit: 'reqps', queries: [rate('topicd_requests_total', 'status')] },
      { title: 'Refusals by cause', unit: 'reqps', queries: [rate('topicd_rejected_total', 'cause')] },
      { title: 'Requests by key', unit: 'reqps', queries: [rate('topicd_key_requests_total', 'key')] },
      {
        title: 'Bodies in and out',
        unit: 'Bps',
        queries: [
          as(rate('topicd_request_bytes_total'), 'in'),
          as(rate('topicd_upload_bytes_total'), 'in, of uploads'),
          as(rate('topicd_response_bytes_total'), 'out'),
        ],
      },
      {
        title: 'Requests waiting, and uploads',
        queries: [as(gauge('topicd_requests_waiting'), 'waiting'), as(gauge('topicd_uploads'), 'uploads')],
      },
    ],
  },
  {
    title: 'Latencies',
    panels: [
      { title: 'Response times by route', queries: quantiles('topicd_request_duration_seconds', 'route') },
      { title: 'Commits', queries: quantiles('topicd_commit_duration_seconds') },
    ],
  },
  {
    title: 'Writes and commits',
    panels: [
      {
        title: 'Writes',
        unit: 'wps',
        queries: [as(rate('topicd_writes_total'), 'all'), as(rate('topicd_writes_failed_total'), 'failed')],
      },
      { title: 'Writes per commit', queries: quantiles('topicd_commit_writes') },
      { title: 'Writes in flight', queries: [gauge('topicd_writes_in_flight')] },
      { title: 'Frames from workers', queries: [rate('topicd_writer_frames_total')] },
      { title: 'Topics removed by REMOVAL', unit: 'wps', queries: [rate('topicd_topics_expired_total')] },
      { title: 'Unreadable records', queries: [gauge('topicd_unreadable_total', 'kind')] },
    ],
  },
  {
    title: 'Changes',
    panels: [
      {
        title: 'Streams and waiting polls, and their limit',
        queries: [
          as(gauge('topicd_changes_streams'), 'streams'),
          as(gauge('topicd_changes_polls'), 'polls'),
          as(gauge('topicd_changes_listeners_max'), 'limit of each'),
        ],
      },
      { title: 'Events sent to streams', unit: 'short', queries: [rate('topicd_changes_deliveries_total')] },
      { title: 'Streams that are behind', queries: [gauge('topicd_changes_behind')] },
      { title: 'Tokens that have gone', queries: [gauge('topicd_changes_gone_total')] },
      {
        title: 'Changes in the log',
        queries: [as(gauge('topicd_changes_kept'), 'kept'), as(gauge('topicd_changes_kept_min'), 'to be kept')],
      },
      { title: 'How far back the log goes', queries: [gauge('topicd_changes_kept_seconds')] },
    ],
  },
  {
    title: 'Store and disk',
    panels: [
      { title: 'Topics', queries: [gauge('topicd_topics')] },
      { title: 'Store size', queries: [gauge('topicd_store_bytes')] },
      {
        title: 'Free space, and the limit below which writes are refused',
        queries: [as(gauge('topicd_disk_free_bytes'), 'free'), as(gauge('topicd_disk_free_bytes_min'), 'mark')],
      },
    ],
  },
  {
    title: 'Workers, event loop and memory',
    panels: [
      { title: 'Ready', queries: [gauge('topicd_ready')] },
      {
        title: 'Workers by version',
        queries: [as(gauge('topicd_workers'), 'all'), gauge('topicd_workers_by_version', 'version')],
      },
      { title: 'Worker restarts', queries: [gauge('topicd_worker_restarts_total')] },
      {
        title: 'Writer, and its restarts',
        queries: [
          as(gauge('topicd_writer_up'), 'up'),
          as(gauge('topicd_writer_spare_up'), 'spare'),
          as(gauge('topicd_writer_restarts_total'), 'restarts'),
        ],
      },
      {
        title: 'Event loop delay of the worst worker',
        queries: ['p50', 'p99', 'max'].map((of) => as(gauge(`topicd_event_loop_delay_${of}_seconds`), of)),
      },
      {
        title: 'Event loop delay per worker',
        queries: [as(gauge('topicd_worker_event_loop_delay_p99_seconds', 'pid'), 'p99')],
      },
      {
        title: 'CPU',
        unit: 'percentunit',
        queries: ['user', 'system'].map((of) => as(rate(`process_cpu_${of}_seconds_total`), of)),
      },
      {
        title: 'Memory',
        queries: [
          as(gauge('process_resident_memory_bytes'), 'resident'),
          as(gauge('nodejs_heap_size_used_bytes'), 'heap'),
        ],
      },
      { title: 'Memory per worker', queries: [gauge('topicd_worker_resident_memory_bytes', 'pid')] },
      { title: 'Writer memory', queries: [gauge('topicd_writer_resident_memory_bytes')] },
    ],
  },
  {
    title: 'Connections',
    panels: [
      {
        title: 'Connections and their limit',
        queries: [gauge('topicd_connections'), as(gauge('topicd_connections_max'), 'limit')],
      },
      {
        title: 'Worker file descriptors',
        queries: [gauge('topicd_worker_open_fds', 'pid'), as(gauge('topicd_worker_max_fds', 'pid'), 'limit')],
      },
      {
        title: 'Primary file descriptors',
        queries: [gauge('process_open_fds'), as(gauge('process_max_fds'), 'limit')],
      },
      { title: 'Writer file descriptors', queries: [gauge('topicd_writer_open_fds')] },
    ],
  },
  {
    title: 'Service',
    panels: [
      {
        title: 'Versions of the primary and of Node.js',
        queries: [gauge('topicd_build_info', 'version', 'node')],
      },
      { title: 'Last reload successful', queries: [gauge('topicd_config_last_reload_successful')] },
      {
        title: 'Since the start, and since the last successful reload',
        unit: 's',
        queries: [
          as(ago('process_start_time_seconds'), 'start'),
          as(ago('topicd_config_last_reload_success_timestamp_seconds'), 'reload'),
        ],
      },
      { title: 'Age of the last backup', unit: 's', queries: [ago('topicd_last_backup_timestamp_seconds')] },
      {
        title: 'Time until the certificate expires',
        unit: 's',
        queries: [{ expr: `topicd_certificate_expiry_timestamp_seconds${chosen} - time()`, legend: shown([]) }],
      },
      { title: 'Log lines lost', queries: [gauge('topicd_log_lines_dropped_total')] },
    ],
  },
]
