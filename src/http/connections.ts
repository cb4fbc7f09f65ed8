/** The maximum number of connections of this process; lower than `connectionsMax` if there are too few file descriptors. */
import { readFileSync } from 'node:fs'

/** Per worker. Each costs a few KB, so this many stay within 200 MB; more are closed immediately. */
const connectionsMax = 20_000

/** Descriptors for everything except connections: the store, pipes, the listener, and a reserve. */
const descriptorsReserved = 200

/** Maximum open connections. More are closed on arrival, which briefly takes a descriptor. */
export function connectionsAllowed(): number {
  return Math.max(1, Math.min(connectionsMax, descriptorsMax() - descriptorsReserved))
}

/** The soft limit on open files, which Node.js raises to the hard limit when it starts; Infinity without /proc. */
export function descriptorsMax(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Infinity : Number(soft)
  } catch {
    return Infinity
  }
}
