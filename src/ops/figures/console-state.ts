/**
 * The response from `/console/state`: everything that the page at `/` of the admin listener shows, ready to draw. Durations
 * are in seconds, times are Unix times in seconds by the service's clock, and unknown figures are missing. The page may
 * belong to another build, so members are added, never changed. The page imports only types from this file.
 */

/** Numbers by label, such as the route. */
export type ByLabel = Readonly<Record<string, number>>

/** The members of a moment that are the sum of one metric each. */
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

/** The members of the facts that are the sum of one metric each. */
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
  /** Responses per second, by class of status; all statuses below 400 count as 2xx. */
  readonly responses?: ByLabel | undefined
  /** Responses per second, by route. */
  readonly routes?: ByLabel | undefined
  /** This member and the next two cover the last 30 s. */
  readonly latencyS?: Quantiles | undefined
  readonly commitS?: Quantiles | undefined
  readonly writesPerCommit?: number | undefined
  /** By worker, like the next member, under names such as `worker 4711`: large numeric names may make the object a large array. */
  readonly workerResidentBytes?: ByLabel
  readonly workerLoopDelayS?: ByLabel
}

export interface Quantiles {
  /** Undefined if there are no values. */
  readonly p50: number | undefined
  readonly p99: number | undefined
  /** The first and the last bound: values below the first, or above the last, are indistinguishable. */
  readonly leastS: number
  readonly mostS: number
}

export interface Facts extends Readonly<Partial<Record<keyof typeof factGauges, number>>> {
  readonly version?: string | undefined
  readonly node?: string | undefined
  /** The number of workers by version. */
  readonly workerVersions: ByLabel
  /** In the last ten minutes, like the next member. */
  readonly recentWorkerRestarts: number
  readonly recentWriterRestarts: number
}

interface KeyUse {
  /** Over the last 30 s. */
  readonly perSecond: number
  /** In the last ten minutes. */
  readonly requests: number
}

/** The part of the response that is computed from metrics. */
export interface Figures {
  readonly facts?: Facts | undefined
  /** The moments of the last ten minutes that are later than the page's `since`, in ascending order. */
  readonly moments: readonly Moment[]
  /** The busiest API keys of the last ten minutes, in descending order. */
  readonly keys: readonly (KeyUse & { readonly key: string })[]
  /** All other keys used in that time, taken together. */
  readonly otherKeys?: KeyUse & { readonly count: number }
  /** In the last ten minutes, by code. */
  readonly refusals: ByLabel
}

interface PageAddress {
  readonly scheme: 'http' | 'https'
  /** The host that the service listens on. */
  readonly host: string
  readonly port: number
  readonly path: string
}

export interface ConsoleState extends Figures {
  readonly nowS: number
  /** The reasons why the service is not ready; empty if it is ready. */
  readonly notReadyReasons: readonly string[]
  /** The console's topics page; undefined if it is turned off. */
  readonly topicsPage: PageAddress | undefined
  /** The page of version 1.0.0 stops working if this is missing. */
  readonly runs: readonly []
}
