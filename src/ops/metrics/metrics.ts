/**
 * Metrics in Prometheus's text format: the workers' statistics, summed, and the primary's own. Only the counts of
 * workers that have ended are kept between two readings, so that no counter falls when a worker is replaced.
 *
 * What a killed worker counted since the last reading is lost.
 */
import { AggregatorRegistry } from 'prom-client'
import { version } from '../../base/version.js'
import type { Logger } from '../log.js'
import { MetricsHistory, type MetricsRun } from './history.js'
import { KeyLabels } from './key-labels.js'
import { counter, gauge, type Metric, one, type Samples } from './metric.js'
import { countsOf, processCounts, processMemory, stateOf } from './worker-metrics.js'
import { readProcess, type WorkerStats } from './worker-stats.js'
import { writerCountsOf, writerStateOf } from './writer-metrics.js'
import type { WriterStats } from './writer-stats.js'

/** How long a scrape waits for a worker; for a slower one, the last known statistics count. */
const statsMsMax = 1000

/** The part of a worker, or of the writer, that the metrics need. */
interface StatsSource {
  /** The version of its build, where it is known. */
  readonly version: string | undefined
  /** The last statistics of a worker. */
  readonly stats: WorkerStats | undefined
  /** The last statistics of a writer. */
  readonly writerStats: WriterStats | undefined
  readonly ended: Promise<unknown>
  /** Requests new ones, with `stored` also the store's; resolves when they have come, or after `withinMs`. */
  requestStats(stored: boolean, withinMs: number): Promise<boolean>
}

interface MetricsOptions {
  /** The workers that serve now. */
  readonly serving: () => readonly StatsSource[]
  readonly restarts: () => number
  /** The writer; undefined while there is none. */
  readonly writer: () => StatsSource | undefined
  readonly writerRestarts: () => number
  /** Whether a spare has loaded, which writes as soon as the writer dies. */
  readonly hasSpareWriter: () => boolean
  /** Whether the store has a writer at all. */
  readonly hasWriter: boolean
  readonly ready: () => boolean
  /** When the certificate in use expires, in ms since the epoch; undefined without one. */
  readonly certificateExpiresMs: () => number | undefined
  readonly log: Logger
}

interface Reload {
  readonly successful: boolean
  /** When the last successful one was. */
  readonly successMs: number
}

function reloadState({ successful, successMs }: Reload): Metric[] {
  const successfulHelp = 'Whether the last reload succeeded; the start counts as the first.'
  const timeHelp = 'When settings last took effect, in seconds since the epoch.'
  return [
    gauge('topicd_config_last_reload_successful', successfulHelp, one(successful ? 1 : 0)),
    gauge('topicd_config_last_reload_success_timestamp_seconds', timeHelp, one(successMs / 1000)),
  ]
}

function writerState({ hasWriter, writer, writerRestarts, hasSpareWriter }: MetricsOptions): Metric[] {
  if (!hasWriter) return []
  const current = writer()
  return [
    gauge('topicd_writer_up', 'Whether a writer is running.', one(current === undefined ? 0 : 1)),
    gauge('topicd_writer_spare_up', 'Whether a spare writer is loaded.', one(hasSpareWriter() ? 1 : 0)),
    counter('topicd_writer_restarts_total', 'Writers started because one died.', one(writerRestarts())),
    ...(current?.writerStats === undefined ? [] : writerStateOf(current.writerStats)),
  ]
}

function serviceState({ serving, restarts, ready, certificateExpiresMs }: MetricsOptions): Metric[] {
  const expiresMs = certificateExpiresMs()
  const expiryHelp = 'When the certificate in use expires, in seconds since the epoch.'
  return [
    gauge('topicd_ready', 'Whether /readyz returns 200.', one(ready() ? 1 : 0)),
    gauge('topicd_workers', 'Workers that serve.', one(serving().length)),
    gauge('topicd_workers_by_version', 'Workers that serve, by the version of their build.', versionSamples(serving())),
    counter('topicd_worker_restarts_total', 'Workers started to replace one that died.', one(restarts())),
    ...(expiresMs === undefined
      ? []
      : [gauge('topicd_certificate_expiry_timestamp_seconds', expiryHelp, one(expiresMs / 1000))]),
  ]
}

function versionSamples(workers: readonly StatsSource[]): Samples {
  const counts = new Map<string, number>()
  for (const { version = 'unknown' } of workers) counts.set(version, (counts.get(version) ?? 0) + 1)
  return [...counts].map(([version, count]) => [{ version }, count])
}

function primaryState(): Metric[] {
  const stats = readProcess()
  const buildHelp = 'Always 1; the labels are the versions of the primary and of Node.js.'
  const startHelp = 'When the service was started, in seconds since the epoch.'
  return [
    gauge('topicd_build_info', buildHelp, [[{ version, node: process.version }, 1]]),
    ...processCounts(stats),
    ...processMemory(stats),
    gauge('process_open_fds', 'Open file descriptors of the primary.', one(stats.descriptors.open)),
    gauge('process_max_fds', 'File descriptors that the primary may have open.', one(stats.descriptors.max)),
    gauge('process_start_time_seconds', startHelp, one(performance.timeOrigin / 1000)),
  ]
}

/** The metrics of a service, whose workers are passed to `watch` as they are started. */
export class Metrics {
  readonly contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE
  readonly #watched = new Set<StatsSource>()
  readonly #keyLabels = new KeyLabels()
  readonly #history = new MetricsHistory()
  #endedCounts: readonly Metric[] = []
  #adding: Promise<void> = Promise.resolve()
  #reading: Promise<string> | undefined
  /** The last collection: one at a time, since each worker has one place for its last statistics. */
  #collected: Promise<unknown> = Promise.resolve()
  /** As `process_start_time_seconds`, so that a reader can tell the start from a reload. */
  #reload: Reload = { successful: true, successMs: performance.timeOrigin }

  constructor(private readonly options: MetricsOptions) {}

  /** From now on the statistics of a worker or a writer count, and its counts even after its end. */
  watch(worker: StatsSource): void {
    this.#watched.add(worker)
    void worker.ended.then(() => this.#retire(worker))
  }

  /**
   * The settings were read again and the workers replaced, or not. The start counts as the first, successful reload.
   */
  reloaded(successful: boolean): void {
    this.#reload = { successful, successMs: successful ? Date.now() : this.#reload.successMs }
  }

  /** Requests the statistics of every worker and returns the text. Concurrent calls share one reading. */
  read(): Promise<string> {
    this.#reading ??= this.#inTurn(() => this.#collect(true))
      .then((all) => AggregatorRegistry.aggregate(all as object[]).metrics())
      .finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** Adds what the metrics are now to the history. The store's, which may cost most, are not asked for. Never rejects. */
  async remember(): Promise<void> {
    try {
      const all = await this.#inTurn(() => this.#collect(false))
      this.#history.add(Date.now() / 1000, all.flat())
    } catch (error) {
      this.options.log.error({ err: error }, 'the metrics cannot be read')
    }
  }

  /** What was remembered in the last ten minutes. */
  remembered(): readonly MetricsRun[] {
    return this.#history.runs()
  }

  #retire(worker: StatsSource): void {
    this.#adding = this.#adding.then(async () => {
      try {
        const counts = this.#countsOf(worker)
        if (counts.length > 0) this.#endedCounts = await sum(this.#endedCounts, counts)
      } catch (error) {
        // A worker of another build may send statistics of another shape: only its counts are lost.
        this.options.log.error({ err: error }, 'the counts of a worker that ended are lost')
      }
      this.#watched.delete(worker)
    })
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#collected.then(work)
    this.#collected = result.catch(() => {})
    return result
  }

  /** @param withStore whether one worker is asked for the statistics of the store */
  async #collect(withStore: boolean): Promise<readonly (readonly Metric[])[]> {
    const { options } = this
    const current = options.serving()
    const ofWriter = options.writer()?.requestStats(false, statsMsMax)
    const answered = await Promise.all(
      current.map((worker, index) => worker.requestStats(withStore && index === 0, statsMsMax)),
    )
    await ofWriter
    await this.#adding
    const counts = [...this.#watched].map((worker) => this.#countsOf(worker)).filter(({ length }) => length > 0)
    const states = current.flatMap(({ stats }, index) =>
      stats === undefined ? [] : [stateOf(stats, answered[index] === true)],
    )
    const own = [...serviceState(options), ...writerState(options), ...reloadState(this.#reload), ...primaryState()]
    return [...counts, this.#endedCounts, ...states, own]
  }

  #countsOf({ stats, writerStats }: StatsSource): readonly Metric[] {
    if (writerStats !== undefined) return writerCountsOf(writerStats)
    return stats === undefined ? [] : countsOf(stats, this.#keyLabels)
  }
}

async function sum(some: readonly Metric[], others: readonly Metric[]): Promise<readonly Metric[]> {
  return (await AggregatorRegistry.aggregate([some, others] as object[]).getMetricsAsJSON()) as unknown as Metric[]
}
