/**
 * What one worker has answered: counted in plain numbers as it happens, so that a request pays nanoseconds for it, and read
 * only when somebody asks. Nothing here knows a metrics format.
 */
import { createDistribution, type DistributionFigures, secondsBounds } from '../distribution.js'
import type { Answer, Answered, CloseCause } from '../http/answer.js'

/** One route's answers since the worker's start. */
export interface RouteFigures {
  readonly route: string
  /** How many, by status. */
  readonly statuses: Readonly<Record<string, number>>
  readonly bytesIn: number
  readonly bytesOut: number
  /** From the headers' arrival to the answer. */
  readonly seconds: DistributionFigures
}

export interface TrafficFigures {
  readonly routes: readonly RouteFigures[]
  /** Answers that were refusals, by their code, and connections closed without one, by the cause. */
  readonly rejected: Readonly<Record<string, number>>
}

export interface Traffic {
  answered(request: Answered<unknown>, answer: Answer): void
  closed(cause: CloseCause): void
  read(): TrafficFigures
}

/** What requests outside all routes are counted as. */
export const otherRoute = 'other'

const statusesMax = 600

/** @param routes the whole paths, base path included */
export function createTraffic(routes: readonly string[]): Traffic {
  const names = [...routes, otherRoute]
  const other = names.length - 1
  const placeOf = new Map(routes.map((path, place) => [path, place]))
  const statuses = names.map(() => new Float64Array(statusesMax))
  const seconds = names.map(() => createDistribution(secondsBounds))
  const bytesIn = new Float64Array(names.length)
  const bytesOut = new Float64Array(names.length)
  const rejected = new Map<string, number>()

  function reject(cause: string): void {
    rejected.set(cause, (rejected.get(cause) ?? 0) + 1)
  }

  return {
    answered(request, { status, body, cause }) {
      const { route } = request
      const place = route === undefined ? other : (placeOf.get(route.path) ?? other)
      statuses[place][status]++
      seconds[place].record((performance.now() - request.startMs) / 1000)
      bytesIn[place] += request.bytesIn
      bytesOut[place] += typeof body === 'string' ? Buffer.byteLength(body) : body.length
      if (cause !== undefined) reject(cause)
    },
    closed: reject,
    read: () => ({
      routes: names.map((route, place) => ({
        route,
        statuses: Object.fromEntries([...statuses[place].entries()].filter(([, count]) => count > 0)),
        bytesIn: bytesIn[place],
        bytesOut: bytesOut[place],
        seconds: seconds[place].read(),
      })),
      rejected: Object.fromEntries(rejected),
    }),
  }
}
