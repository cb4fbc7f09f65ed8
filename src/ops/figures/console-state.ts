/**
 * The answer of `/console/state`: all that the page at `/` of the admin listener shows, ready to draw. Durations are in
 * seconds, times in seconds since the epoch by the service's clock, and unknown figures are missing. The page may be of
 * another build, so members are added, never changed. The page takes these types and loads nothing.
 */

/** Numbers by a label, such as the route. */
export type ByLabel = Readonly<Record<string, number>>

/** Members of a moment that are the sums of one metric each. */
export const momentGauges = {
  writesInFlight: 'topicd_writes_in_flight',
  connections: 'topicd_connections',
  connectionsMax: 'topicd_connections_max',
  streams: 'topicd_changes_streams',
  polls: 'topicd_changes_polls',
  listenersMax: 'topicd_changes_listeners_max',
  residentBytes: 'process_resident_memory_bytes',
  diskFreeBytes: 'topicd_disk_free_bytes',
  diskFreeBytesMin: 'topicd_disk_free_bytes_min',
} as const

/** Members of the facts that are the sums of one metric each. */
export const factGauges = {
  startedS: 'process_start_time_seconds',
  workers: 'topicd_workers',
  workerRestarts: 'topicd_worker_restarts_total',
  writerUp: 'topicd_writer_up',
  writerSpareUp: 'topicd_writer_spare_up',
  writerRestarts: 'topicd_writer_restarts_total',
  reloadSuccessful: 'topicd_config_last_reload_successful',
  reloadSuccessS: 'topicd_config_last_reload_success_timestamp_seconds',
  backupS: 'topicd_last_backup_timestamp_seconds',
  certificateExpiresS: 'topicd_certificate_expiry_timestamp_seconds',
  topics: 'topicd_topics',
  storeBytes: 'topicd_store_bytes',
  diskFreeBytesMin: momentGauges.diskFreeBytesMin,
} as const

export interface Moment extends Readonly<Partial<Record<keyof typeof momentGauges, number>>> {
  readonly atS: number
  /** Per second, by the class of the status; redirections and the like count as 2xx. */
  readonly responses?: ByLabel | undefined
  /** Responses per second, by route. */
  readonly routes?: ByLabel | undefined
  /** Over the last 30 s, as the two below. */
  readonly latencyS?: Quantiles | undefined
  readonly commitS?: Quantiles | undefined
  readonly writesPerCommit?: number | undefined
  /** By worker, such as `worker 4711`, as the one below: an object whose names are large numbers may be a large array. */
  readonly workerResidentBytes?: ByLabel
  readonly workerLoopDelayS?: ByLabel
}

export interface Quantiles {
  /** Undefined without values. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  /** Values below the first bound, or above the last one, are not told apart. */
  readonly leastS: number
  readonly mostS: number
}

export interface Facts extends Readonly<Partial<Record<keyof typeof factGauges, number>>> {
  readonly version?: string | undefined
  readonly node?: string | undefined
  /** Workers by their version. */
  readonly workerVersions: ByLabel
  /** In the last ten minutes, as the one below. */
  readonly recentWorkerRestarts: number
  readonly recentWriterRestarts: number
}

interface KeyUse {
  /** Over the last 30 s. */
  readonly perSecond: number
  /** In the last ten minutes. */
  readonly requests: number
}

/** The part of the answer that is computed from metrics. */
export interface Figures {
  readonly facts?: Facts | undefined
  /** Ascending: those after the time that the page has named, of the last ten minutes. */
  readonly moments: readonly Moment[]
  /** The busiest API keys with requests in the last ten minutes, the busiest first. */
  readonly keys: readonly (KeyUse & { readonly key: string })[]
  /** All other such keys together. */
  readonly otherKeys?: KeyUse & { readonly count: number }
  /** In the last ten minutes, by code. */
  readonly refusals: ByLabel
}

interface PageAddress {
  readonly scheme: 'http' | 'https'
  /** Where the service listens. */
  readonly host: string
  readonly port: number
  readonly path: string
}

export interface ConsoleState extends Figures {
  readonly nowS: number
  /** Why the service is not ready; none if it is. */
  readonly notReadyReasons: readonly string[]
  /** The console's page of the topics; undefined if it is turned off. */
  readonly topicsPage: PageAddress | undefined
  /** The page of 1.0.0 stops if this is missing. */
  readonly runs: readonly []
}
