/**
 * How many connections this process may have: what limits.ts says, or fewer where the system allows it fewer descriptors.
 */
import { readFileSync } from 'node:fs'
import { connectionsMax, descriptorsReserved } from '../limits.js'

/** Connections at once; more are closed as they arrive, which takes a descriptor for a moment. */
export function connectionsAllowed(): number {
  return Math.max(1, Math.min(connectionsMax, descriptorsMax() - descriptorsReserved))
}

/** The soft limit of open files, which Node raises to the hard one when it starts; Infinity without /proc. */
export function descriptorsMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
