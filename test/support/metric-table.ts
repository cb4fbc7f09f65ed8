/**
 * Every metric of the service with its help text, as the program itself defines them: read from its metrics with one
 * worker, and a writer, that have everything there is to report. No service runs.
 */
import { Metrics } from '../../dist/ops/metrics/metrics.js'

const histogram = { bounds: [1], counts: [0, 0], sum: 0 }

const processStats = {
  logLinesDropped: 0,
  pid: 1,
  descriptors: { open: 1, max: 1 },
  cpuSeconds: { user: 0, system: 0 },
  residentBytes: 0,
  heapBytes: 0,
}

const commits = { writes: 0, failed: 0, inFlight: 0, seconds: histogram, batches: histogram }

const stats = {
  ...processStats,
  routes: [{ route: 'r', statuses: { 200: 1 }, bytesIn: 0, bytesOut: 0, seconds: histogram }],
  rejected: { unauthorized: 1 },
  keyRequests: [['key', 1]] as const,
  connections: 0,
  connectionsMax: 1,
  waiting: 0,
  commits,
  expired: 0,
  changes: { streams: 0, polls: 0, listenersMax: 1, behind: 0, deliveries: 0, goneTokens: 0 },
  changesKeptMin: 1,
  stored: { topics: 0, bytes: 0, backupMs: 1, log: { changes: 0, sinceMs: 0 } },
  loopDelay: { median: 0, p99: 0, max: 0 },
}

const writerStats = { ...processStats, commits, frames: 0, expired: 0, diskFreeBytes: 1, diskFreeBytesMin: 1 }

/** What that service would answer to a scrape. */
export async function metricsText(): Promise<string> {
  const child = { version: '1', ended: new Promise(() => {}), requestStats: async () => true }
  const worker = { ...child, stats, writerStats: undefined }
  const writer = { ...child, stats: undefined, writerStats }
  const metrics = new Metrics({
    serving: () => [worker],
    restarts: () => 0,
    writer: () => writer,
    writerRestarts: () => 0,
    hasSpareWriter: () => true,
    hasWriter: true,
    ready: () => true,
    certificateExpiresMs: () => 1,
    log: { error: (problem: object) => Promise.reject(problem) } as never,
  })
  metrics.watch(worker)
  metrics.watch(writer)
  return metrics.read()
}

/** The help text of each metric, by its name: a histogram's without `_bucket`, `_sum` and `_count`. */
export async function metricTable(): Promise<ReadonlyMap<string, string>> {
  const text = await metricsText()
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', help = '']) => [name, help]))
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
  return new Map(names.map((name) => [name, helps.get(name) ?? '']))
}

/** A name of one of our metrics in a query, in a rule or in a text. */
const metricName = /\b(?:topicd|process|nodejs)_[a-z0-9_]+\b/g

/** The metrics that a text names, a histogram's series by the histogram's name. */
export function metricsIn(text: string, known: ReadonlyMap<string, string>): string[] {
  const names = (text.match(metricName) ?? []).map((name) => {
    const histogram = name.replace(/_(bucket|sum|count)$/, '')
    return known.has(histogram) ? histogram : name
  })
  return [...new Set(names)]
}
