/**
 * Metrics in Prometheus's text format: what each process reports of its own table, summed by name, and the primary's table.
 * A process says itself what its metrics are, so those of another build are shown as well. Between two readings only the
 * counts of processes that have ended are kept, so that no counter falls when a process is replaced.
 *
 * What a killed process counted since the last reading is lost.
 */
import { AggregatorRegistry } from 'prom-client'
import { KeyLabels } from '../../auth/key-counts.js'
import type { Figures } from '../figures/console-state.js'
import { FiguresHistory } from '../figures/history.js'
import type { Logger } from '../log.js'
import { evaluate, type Metric } from './metric.js'
import { readUsage } from './process-metrics.js'
import { type Reload, type Reporter, type ServiceSources, serviceTable } from './service-metrics.js'

/** How long a scrape waits for a process; of a slower one, the last report counts. */
const reportMsMax = 1000

/** However many pages are open. */
const pageSampleMsMin = 1000

interface MetricsOptions extends Omit<ServiceSources, 'usage' | 'reload'> {
  readonly log: Logger
}

/** The metrics of a service, whose processes are passed to `watch` as they are started. */
export class Metrics {
  readonly contentType = AggregatorRegistry.PROMETHEUS_CONTENT_TYPE
  readonly #watched = new Set<Reporter>()
  readonly #keyLabels = new KeyLabels()
  readonly #history = new FiguresHistory()
  /** The sums over all processes that have ended. */
  #ended: readonly Metric[] = []
  #reading: Promise<string> | undefined
  /** For a page; for a second after it, no other is taken. */
  #sampling: Promise<void> | undefined
  /** The last collection: one at a time, because each process has one place for its last report. */
  #collected: Promise<unknown> = Promise.resolve()
  /** As `process_start_time_seconds`, so that a reader can tell the start from a reload. */
  #reload: Reload = { successful: true, successMs: performance.timeOrigin }

  constructor(private readonly options: MetricsOptions) {}

  /** From now on the reports of a worker or a writer count, and its counts even after its end. */
  watch(reporter: Reporter): void {
    this.#watched.add(reporter)
    void reporter.ended.then(() => this.#retire(reporter))
  }

  reloaded(successful: boolean): void {
    this.#reload = { successful, successMs: successful ? Date.now() : this.#reload.successMs }
  }

  /** Requests the report of every process and returns the text. Concurrent calls share one reading. */
  read(): Promise<string> {
    this.#reading ??= this.#inTurn(() => this.#collect(true))
      .then((metrics) => summed(metrics).metrics())
      .finally(() => (this.#reading = undefined))
    return this.#reading
  }

  /** Adds the present metrics to the history; those of the store, which may cost most, only for a page. Never rejects. */
  async remember(isForPage = false): Promise<void> {
    try {
      await this.#inTurn(async () => {
        // Processes that work answer within milliseconds; for others, their last report counts.
        const atS = Date.now() / 1000
        this.#history.add(atS, await this.#collect(isForPage), isForPage)
      })
    } catch (error) {
      this.options.log.error({ err: error }, 'the metrics cannot be read')
    }
  }

  /** The figures of now and, of the last ten minutes, the moments after `sinceS`. Pages share samples. Never rejects. */
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
      this.#ended = summed(metrics).getMetricsAsArray() as unknown as Metric[]
    } catch (error) {
      // A process of another build may report in another form: only its counts are lost.
      this.options.log.error({ err: error }, 'the counts of a process that ended are lost')
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#collected.then(work)
    this.#collected = result.catch(() => {})
    return result
  }

  /** @param withStore also requests the metrics of the store, of one worker */
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
      // It has ended, and the metrics of the store with it.
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

  /** The last report of a process, with the labels that its keys have in the whole service. */
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

/** Metrics of one name become one, and samples of one name with the same labels. */
function summed(metrics: readonly Metric[]): ReturnType<typeof AggregatorRegistry.aggregate> {
  return AggregatorRegistry.aggregate([metrics])
}

function outlivesProcess({ type }: Metric): boolean {
  return type !== 'gauge'
}

/** Without the values of the process alone: if it does not answer, its present ones are not known. */
function withoutOwn(metric: Metric): Metric {
  return { ...metric, values: metric.values.filter(({ labels }) => labels.pid === undefined) }
}
