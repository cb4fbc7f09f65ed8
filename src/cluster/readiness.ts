/**
 * Whether the service does what it is for, as far as the primary can see: for /readyz, and for the watchdog.
 */
import type { Child } from './child.js'

/** A heartbeat comes every second; a worker that misses several does not serve. */
const heartbeatMsMax = 5000

export interface ReadinessOptions {
  readonly stopping: () => boolean
  /** How many workers should serve. */
  readonly expected: () => number
  readonly serving: () => readonly Child[]
}

export interface Readiness {
  /** Everything that keeps the service from serving in full, a sentence each; none when it is ready. */
  obstacles(): string[]
  /** Whether every worker that serves has been heard lately. A full disk is no reason to restart anything; silence is. */
  alive(): boolean
}

export function createReadiness({ stopping, expected, serving }: ReadinessOptions): Readiness {
  function silent(): Child[] {
    const now = performance.now()
    return serving().filter(({ heardMs }) => now - heardMs >= heartbeatMsMax)
  }
  return {
    obstacles() {
      const found: string[] = []
      const count = serving().length
      if (stopping()) found.push('the service is stopping')
      if (count < expected()) found.push(`${count} of ${expected()} workers serve`)
      for (const { process } of silent()) found.push(`worker ${process.pid} has not been heard for seconds`)
      for (const { process, writable } of serving()) {
        if (!writable) found.push(`worker ${process.pid} can not write: a commit failed, or the disk is nearly full`)
      }
      return found
    },
    alive: () => silent().length === 0,
  }
}
