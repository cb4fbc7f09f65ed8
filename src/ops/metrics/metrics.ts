/**
 * Metrics in Prometheus's text format: the reports of all processes, summed by name, and the primary's own table. A
 * report describes its metrics, so metrics from another build are shown as well. The counts of exited
 * processes are kept, so that no counter falls when a process is replaced.
 *
 * Counts that a killed process made after its last report are lost.
 */
import { AggregatorRegistry } from 'prom-client'
import { KeyLabels } from '../../auth/key-counts.js'
import type { Figures } from '../figures/console-state.js'
import { FiguresHistory } from '../figures/history.js'
import type { Logger } from '../log.js'
import { evaluate, type Metric } from './metric.js'
import { readUsage } from './process-metrics.js'
import { type Reload, type Reporter, type ServiceSources, serviceTable } from './service-metrics.js'

/** Maximum time that a scrape waits for a process; for a slower process, its last report counts. */
const reportMsMax = 1000

/** The minimum interval between samples for pages, in ms, for all open pages together. */
const pageSampleMsMin = 1000

interface MetricsOptions extends Omit<ServiceSources, 'usage' | 'reload'> {
  readonly log: Logger
}

/** The metrics of a service. Pass each process to `watch` when it is started. */
export class Metrics {
  readonly contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE
  readonly #watched = new Set<Reporter>()
  readonly #keyLabels = new KeyLabels()
  readonly #history = new FiguresHistory()
  /** The sums over all exited processes. */
  #ended: readonly Metric[] = []
  #reading: Promise<string> | undefined
  /** The last sample for a page; the next one is taken a second later at the earliest. */
  #sampling: Promise<void> | undefined
  /** The last collection. Only one runs at a time, because each process has one place for its last report. */
  #collected: Promise<unknown> = Promise.resolve()
  /** Initially equal to `process_start_time_seconds`, so that a reader can tell the start from a reload. */
  #reload: Reload = { successful: true, successMs: performance.timeOrigin }

  constructor(private readonly options: MetricsOptions) {}

  /** Includes the reports of a worker or a writer, and its counts even after it exits. */
  watch(reporter: Reporter): void {
    this.#watched.add(reporter)
    void reporter.ended.then(() => this.#retire(reporter))
  }

  reloaded(successful: boolean): void {
    this.#reload = { successful, successMs: successful ? Date.now() : this.#reload.successMs }
  }

  /** Requests a report from every serving worker and the writer, and returns the text. Concurrent calls share one reading. */
  read(): Promise<string> {
    this.#reading ??= this.#inTurn(() => this.#collect(true))
      .then((metrics) => summed(metrics).metrics())
      .finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** Adds the current metrics to the history. The store's metrics, which may cost the most, are added only for a page. Never rejects. */
  async remember(isForPage = false): Promise<void> {
    try {
      await this.#inTurn(async () => {
        // Working processes respond within milliseconds; for all others, the last report counts.
        const atS = Date.now() / 1000
        this.#history.add(atS, await this.#collect(isForPage), isForPage)
      })
    } catch (error) {
      this.options.log.error({ err: error }, 'the metrics cannot be read')
    }
  }

  /** The current figures, and the moments after `sinceS` within the last ten minutes. Pages share samples. Never rejects. */
  async figures(sinceS: number): Promise<Figures> {
    this.#sampling ??= this.remember(true).finally(() =>
      setTimeout(() => (this.#sampling = undefined), pageSampleMsMin).unref(),
    )
    await this.#sampling
    return this.#history.figures(sinceS)
  }

  #retire(reporter: Reporter): void {
    this.#watched.delete(reporter)
    try {
      const metrics = [...this.#ended, ...this.#reportOf(reporter).filter(outlivesProcess)]
      const sums = summed(metrics).getMetricsAsArray() as unknown as Metric[]
      // A sum of prom-client also has a function that keeps everything it was summed from in memory.
      this.#ended = sums.map(({ name, help, type, aggregator, values }) => ({ name, help, type, aggregator, values }))
    } catch (error) {
      // A process from another build may use another report format; only its counts are lost.
      this.options.log.error({ err: error }, 'the counts of a process that exited are lost')
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#collected.then(work)
    this.#collected = result.catch(() => {})
    return result
  }

  /** @param withStore also requests the store's metrics from one worker */
  async #collect(withStore: boolean): Promise<readonly Metric[]> {
    const { workers, writers } = this.options
    const writer = writers?.current()
    const current = writer === undefined ? workers.serving() : [...workers.serving(), writer]
    const answered = new Map<Reporter, boolean>()
    const ask = async (reporter: Reporter, index: number): Promise<unknown> =>
      answered.set(reporter, await reporter.requestMetrics(withStore && index === 0, reportMsMax))
    await Promise.all(current.map(ask))
    const [first] = current
    if (withStore && first !== undefined && !this.#watched.has(first)) {
      // The worker that was to report the store's metrics has exited, so ask another.
      const next = workers.serving().find((worker) => answered.get(worker) === true)
      await next?.requestMetrics(true, reportMsMax)
    }
    const reported = [...this.#watched].flatMap((reporter) => {
      const report = this.#reportOf(reporter)
      const hasAnswered = answered.get(reporter)
      if (hasAnswered === undefined) return report.filter(outlivesProcess)
      return hasAnswered ? report : report.map(withoutOwn)
    })
    const own = evaluate(serviceTable, { ...this.options, reload: this.#reload, usage: readUsage() })
    return [...reported, ...this.#ended, ...own]
  }

  /** The last report of a process, with the service-wide labels of its keys. */
  #reportOf({ metrics = [] }: Reporter): readonly Metric[] {
    return metrics.map((metric) => {
      const values = metric.values.map((sample) => {
        const { labels } = sample
        return labels.key === undefined
          ? sample
          : { ...sample, labels: { ...labels, key: this.#keyLabels.of(labels.key) } }
      })
      return { ...metric, values }
    })
  }
}

/** Merges metrics with the same name, and their samples with the same labels. */
function summed(metrics: readonly Metric[]): ReturnType<typeof AggregatorRegistry.aggregate> {
  return AggregatorRegistry.aggregate([metrics])
}

function outlivesProcess({ type }: Metric): boolean {
  return type !== 'gauge'
}

/** Drops the per-process values: if the process does not respond, its current values are unknown. */
function withoutOwn(metric: Metric): Metric {
  return { ...metric, values: metric.values.filter(({ labels }) => labels.pid === undefined) }
}
