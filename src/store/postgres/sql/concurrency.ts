/**
 * A limit on concurrent statements. A scan sends one statement after another, so however many scans there are, only a
 * few of their statements are in flight at a time, and sessions stay free for other requests.
 */
import type { Execute } from './statement.js'

/** The same reads, at most `inFlightMax` of them in flight; the others wait in arrival order. */
export function limitConcurrency(read: Execute, inFlightMax: number): Execute {
  const waiting: (() => void)[] = []
  let inFlight = 0
  return async (statement, parameters) => {
    if (inFlight === inFlightMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else inFlight++
    try {
      return await read(statement, parameters)
    } finally {
      const next = waiting.shift()
      if (next === undefined) inFlight--
      else next()
    }
  }
}
