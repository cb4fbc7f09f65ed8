/**
 * How many connections this process may have: `connectionsMax`, or fewer where the system allows it too few
 * descriptors.
 */
import { readFileSync } from 'node:fs'
import { connectionsMax, descriptorsReserved } from '../settings/limits.js'

/** The most open connections. Further ones are closed as they arrive, which takes a descriptor for a moment. */
export function connectionsAllowed(): number {
  return Math.max(1, Math.min(connectionsMax, descriptorsMax() - descriptorsReserved))
}

/** The soft limit on open files, which Node raises to the hard one when it starts; Infinity without /proc. */
export function descriptorsMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
