/**
 * The answers of one worker, counted in plain numbers as they are sent, which costs nanoseconds per request, and read
 * only on request. The metrics' format is in metric.ts.
 */
import type { Access } from '../../auth/access.js'
import { createHistogram, type Histogram, type HistogramStats, secondsBounds } from '../../base/histogram.js'
import type { Answer, Answered, CloseCause } from '../../http/answer.js'

/** One route's answers since the worker's start. */
interface RouteStats {
  readonly route: string
  /** How many, by status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly bytesIn: number
  readonly bytesOut: number
  /** From the headers' arrival to the answer. */
  readonly seconds: HistogramStats
}

export interface RequestStats {
  readonly routes: readonly RouteStats[]
  /** Refusals by their code, also those of operations within an answer, and connections closed without an answer by the cause. */
  readonly rejected: Readonly<Record<string, number>>
}

export interface RequestCounter {
  answered(request: Answered<Pick<Access, 'count'>>, answer: Answer): void
  closed(cause: CloseCause): void
  /** Counts what was refused within an answer. @param code why */
  refused(code: string): void
  read(): RequestStats
}

/** The name under which requests outside all routes are counted. */
export const otherRoute = 'other'

const statusesMax = 600

/** One route's counts, as they grow. */
interface RouteCounts {
  readonly statuses: Float64Array
  readonly seconds: Histogram
  bytesIn: number
  bytesOut: number
}

function emptyCounts(): RouteCounts {
  const seconds = createHistogram(secondsBounds)
  return { statuses: new Float64Array(statusesMax), seconds, bytesIn: 0, bytesOut: 0 }
}

function read(route: string, counts: RouteCounts): RouteStats {
  const statuses = Object.fromEntries([...counts.statuses.entries()].filter(([, count]) => count > 0))
  return { route, statuses, bytesIn: counts.bytesIn, bytesOut: counts.bytesOut, seconds: counts.seconds.read() }
}

/** @param routes the whole paths, base path included */
export function createRequestCounter(routes: readonly string[]): RequestCounter {
  const other = emptyCounts()
  const byPath = new Map(routes.map((path) => [path, emptyCounts()]))
  const rejected = new Map<string, number>()

  function reject(cause: string): void {
    rejected.set(cause, (rejected.get(cause) ?? 0) + 1)
  }

  return {
    answered({ route, startMs, endMs, bytesIn, caller }, { status, body, cause }) {
      const counts = (route && byPath.get(route.path)) ?? other
      // Every status is below `statusesMax`.
      ;(counts.statuses[status] as number)++
      counts.bytesIn += bytesIn
      counts.bytesOut += typeof body === 'string' ? Buffer.byteLength(body) : body.length
      counts.seconds.record((endMs - startMs) / 1000)
      if (caller !== undefined) caller.count.requests++
      if (cause !== undefined) reject(cause)
    },
    closed: reject,
    refused: reject,
    read: () => ({
      routes: [...[...byPath].map(([path, counts]) => read(path, counts)), read(otherRoute, other)],
      rejected: Object.fromEntries(rejected),
    }),
  }
}
