/** The table of the primary: the service as a whole, and the primary's own process. */
import { version } from '../../base/version.js'
import { counter, gauge, type Metric, type Reading, secondsOf, type Table } from './metric.js'
import { type ProcessSources, processTable } from './process-metrics.js'

/** A worker or a writer, reduced to the members needed here. */
export interface Reporter {
  readonly version: string | undefined
  readonly metrics: readonly Metric[] | undefined
  readonly ended: Promise<unknown>
  /** Requests a report, which includes the store if `stored` is set. @returns whether the report arrived within `withinMs` */
  requestMetrics(stored: boolean, withinMs: number): Promise<boolean>
}

/** The last reload. The start counts as the first reload, a successful one. */
export interface Reload {
  readonly successful: boolean
  readonly successMs: number
}

export interface ServiceSources extends ProcessSources {
  readonly workers: {
    serving(): readonly Reporter[]
    readonly restarts: number
  }
  /** Undefined if the engine needs no writer. */
  readonly writers:
    | {
        current(): Reporter | undefined
        /** True if a spare is loaded; it takes over as soon as the writer dies. */
        readonly hasSpare: boolean
        readonly restarts: number
      }
    | undefined
  readonly ready: () => boolean
  readonly certificateExpiresMs: () => number | undefined
  readonly reload: Reload
}

export const serviceTable: Table<ServiceSources> = {
  topicd_ready: gauge('Whether /readyz returns 200.', ({ ready }) => Number(ready())),
  topicd_workers: gauge('Serving workers.', ({ workers }) => workers.serving().length),
  topicd_workers_by_version: gauge('Serving workers by version of their build.', workersByVersion),
  topicd_worker_restarts_total: counter('Workers started to replace dead ones.', ({ workers }) => workers.restarts),
  topicd_certificate_expiry_timestamp_seconds: gauge(
    'Expiry of the certificate in use, in seconds since the epoch.',
    ({ certificateExpiresMs }) => secondsOf(certificateExpiresMs()),
  ),
  topicd_writer_up: gauge(
    'Whether a writer is running.',
    ({ writers }) => writers && Number(writers.current() !== undefined),
  ),
  topicd_writer_spare_up: gauge(
    'Whether a spare writer is loaded.',
    ({ writers }) => writers && Number(writers.hasSpare),
  ),
  topicd_writer_restarts_total: counter('Writers started to replace dead ones.', ({ writers }) => writers?.restarts),
  topicd_config_last_reload_successful: gauge(
    'Whether the last reload succeeded; the start counts as the first.',
    ({ reload }) => Number(reload.successful),
  ),
  topicd_config_last_reload_success_timestamp_seconds: gauge(
    'Time when settings last took effect, in seconds since the epoch.',
    ({ reload }) => reload.successMs / 1000,
  ),
  topicd_build_info: gauge('Always 1; the labels are the versions of the primary and of Node.js.', () => [
    [{ version, node: process.version }, 1],
  ]),
  ...processTable,
  process_open_fds: gauge('Open file descriptors of the primary.', ({ usage }) => usage.descriptors.open),
  process_max_fds: gauge(
    'Maximum number of open file descriptors of the primary.',
    ({ usage }) => usage.descriptors.max,
  ),
  process_start_time_seconds: gauge(
    'Start time of the service, in seconds since the epoch.',
    () => performance.timeOrigin / 1000,
  ),
}

function workersByVersion({ workers }: ServiceSources): Reading<number> {
  const counts = new Map<string, number>()
  for (const { version = 'unknown' } of workers.serving()) counts.set(version, (counts.get(version) ?? 0) + 1)
  return [...counts].map(([version, count]) => [{ version }, count])
}
