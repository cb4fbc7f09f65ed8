/**
 * The service at a glance, for the console: from the metrics, of which a reading is reused for a while, however many ask. So the
 * workers are asked at most once in that time.
 */
import type { Overview } from '../../api/console/primary.js'
import { version } from '../../base/version.js'
import type { Metrics } from '../../ops/metrics/metrics.js'
import type { Readiness } from './readiness.js'

/** How long a reading is reused. */
const reuseMs = 2000

/** A rate over a longer time says little of the present. */
const rateMsMax = 30_000

interface Figures {
  readonly atMs: number
  /** Answered since the start. */
  readonly requests: number
  readonly shown: Pick<Overview, 'topics' | 'streams' | 'polls' | 'connections' | 'requests_per_second'>
}

/** @returns reads it; resolves within seconds */
export function createOverview(
  metrics: Pick<Metrics, 'read'>,
  readiness: Pick<Readiness, 'notReadyReasons'>,
): () => Promise<Overview> {
  let last: Figures | undefined
  let reading: Promise<Figures> | undefined

  async function read(): Promise<Figures> {
    const text = await metrics.read()
    return (last = figuresOf(text, performance.now(), last))
  }

  return async () => {
    const isFresh = last !== undefined && performance.now() - last.atMs < reuseMs
    if (!isFresh) reading ??= read().finally(() => (reading = undefined))
    const { shown } = isFresh ? (last as Figures) : await (reading as Promise<Figures>)
    const problems = readiness.notReadyReasons()
    const started = new Date(performance.timeOrigin).toISOString()
    return { version, started, ready: problems.length === 0, problems, ...shown }
  }
}

/** @param text in Prometheus's format, each metric of all processes together */
function figuresOf(text: string, atMs: number, before: Figures | undefined): Figures {
  const sum = (name: string): number | undefined => {
    const samples = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))]
    return samples.length === 0 ? undefined : samples.reduce((total, [, value]) => total + Number(value), 0)
  }
  const requests = sum('topicd_requests_total') ?? 0
  const shown = {
    topics: sum('topicd_topics') ?? null,
    streams: sum('topicd_changes_streams') ?? 0,
    polls: sum('topicd_changes_polls') ?? 0,
    connections: sum('topicd_connections') ?? 0,
    requests_per_second: before && rate(requests - before.requests, atMs - before.atMs),
  }
  return { atMs, requests, shown }
}

/** To a tenth. Undefined if it would say little, or a process has ended and took its last counts with it. */
function rate(count: number, ms: number): number | undefined {
  return ms > rateMsMax || count < 0 ? undefined : Math.round((count * 10_000) / ms) / 10
}
