/**
 * Turns: scans ask the engine again and again, so however many there are, only a few of their statements are under way at a
 * time, and the connections stay free for the others.
 */
import type { Execute } from './statement.js'

/** The same reads, of which `underWayMax` at most are under way; the others wait in the order of their coming. */
export function limitConcurrency(read: Execute, underWayMax: number): Execute {
  const waiting: (() => void)[] = []
  let underWay = 0
  return async (statement, parameters) => {
    if (underWay === underWayMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else underWay++
    try {
      return await read(statement, parameters)
    } finally {
      const next = waiting.shift()
      if (next === undefined) underWay--
      else next()
    }
  }
}
