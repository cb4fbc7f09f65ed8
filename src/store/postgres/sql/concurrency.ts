/**
 * A limit on concurrent statements. A scan sends one statement after another, so however many scans there are, only a
 * few of their statements are in flight at a time, and sessions stay free for other requests.
 */
import type { Execute } from './statement.js'

/** Does some work, or lets it wait, in arrival order. */
type Limit = <T>(work: () => Promise<T>) => Promise<T>

/** Lets at most `inFlightMax` of the works be in flight. */
export function createLimit(inFlightMax: number): Limit {
  const waiting: (() => void)[] = []
  let inFlight = 0
  return async (work) => {
    if (inFlight === inFlightMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else inFlight++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) inFlight--
      else next()
    }
  }
}

/** The same reads, at most `inFlightMax` of them in flight. */
export function limitConcurrency(read: Execute, inFlightMax: number): Execute {
  const limit = createLimit(inFlightMax)
  return (statement, parameters) => limit(() => read(statement, parameters))
}
