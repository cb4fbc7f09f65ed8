/** Counts the responses of one worker as they are sent, at a cost of nanoseconds each. worker-metrics.ts reads the counts. */
import type { Access } from '../../auth/access.js'
import { createHistogram, type Histogram, secondsBounds } from '../../base/histogram.js'
import type { Answer, Answered, CloseCause } from '../../http/answer.js'

export interface RouteCounts {
  /** The number of responses by status. */
  readonly statuses: Float64Array
  /** The time from the arrival of the headers to the response. */
  readonly seconds: Histogram
  bytesIn: number
  bytesOut: number
}

export interface RequestCounter {
  answered(request: Answered<Pick<Access, 'count'>>, answer: Answer): void
  closed(cause: CloseCause): void
  /** Counts an operation rejected within a response. @param code the error code */
  refused(code: string): void
  /** By the full path of the route; live. */
  readonly routes: ReadonlyMap<string, Readonly<RouteCounts>>
  /** Rejected requests and operations by error code, and connections closed without a response by cause. */
  readonly rejected: ReadonlyMap<string, number>
}

/** The name under which requests outside all routes are counted. */
export const otherRoute = 'other'

const statusesMax = 600

function emptyCounts(): RouteCounts {
  const seconds = createHistogram(secondsBounds)
  return { statuses: new Float64Array(statusesMax), seconds, bytesIn: 0, bytesOut: 0 }
}

/** @param paths the paths of the routes, including the base path */
export function createRequestCounter(paths: readonly string[]): RequestCounter {
  const other = emptyCounts()
  const routes = new Map([...paths.map((path) => [path, emptyCounts()] as const), [otherRoute, other]])
  const rejected = new Map<string, number>()

  function reject(cause: string): void {
    rejected.set(cause, (rejected.get(cause) ?? 0) + 1)
  }

  return {
    answered({ route, startMs, endMs, bytesIn, caller }, { status, body, cause }) {
      const counts = (route && routes.get(route.path)) ?? other
      // Every status is below `statusesMax`.
      ;(counts.statuses[status] as number)++
      counts.bytesIn += bytesIn
      counts.bytesOut += Buffer.byteLength(body)
      counts.seconds.record((endMs - startMs) / 1000)
      if (caller !== undefined) caller.count.requests++
      if (cause !== undefined) reject(cause)
    },
    closed: reject,
    refused: reject,
    routes,
    rejected,
  }
}
