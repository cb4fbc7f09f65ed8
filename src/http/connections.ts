/** How many connections this process may have: fewer than `connectionsMax` if it may have too few descriptors. */
import { readFileSync } from 'node:fs'

/** For one worker: each costs a few KB, so this many stay within 200 MB. Further ones are closed immediately. */
const connectionsMax = 20_000

/** Descriptors that a worker needs for everything but connections: the store, the pipes, a listener, room for more. */
const descriptorsReserved = 200

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
