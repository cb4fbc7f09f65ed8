/**
 * How many connections this process may have: what limits.ts says, or fewer where the system gives it fewer descriptors.
 */
import { readFileSync } from 'node:fs'
import { connectionsMax, descriptorsReserved } from '../limits.js'

/** Connections at once; more are closed as they come, which takes a descriptor for a moment. */
export function connectionsAllowed(): number {
  return Math.max(1, Math.min(connectionsMax, descriptorsMax() - descriptorsReserved))
}

/** The soft limit of open files, which Node has raised to the hard one at its start; without /proc, no limit is known. */
export function descriptorsMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
