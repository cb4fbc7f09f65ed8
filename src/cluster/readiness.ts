/**
 * Whether the service does what it is for, as far as the primary can see: for /readyz, the status text and the watchdog.
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
  notReadyReasons(): string[]
  /** Why the store of some worker is unavailable; undefined while none is. */
  storeProblem(): string | undefined
  /** Whether every worker that serves has been heard lately. A full disk is no reason to restart anything; silence is. */
  alive(): boolean
  /** The state of the service in one line, for `systemctl status`: how many workers of which version, or why it is not ready. */
  status(): string
}

export function createReadiness({ stopping, expected, serving }: ReadinessOptions): Readiness {
  function silent(): Child[] {
    const now = performance.now()
    return serving().filter(({ heardMs }) => now - heardMs >= heartbeatMsMax)
  }

  function notReadyReasons(): string[] {
    const found: string[] = []
    const count = serving().length
    if (stopping()) found.push('the service is stopping')
    if (count < expected()) found.push(`${count} of ${expected()} workers serve`)
    for (const { process } of silent()) found.push(`worker ${process.pid} has not been heard for seconds`)
    for (const { process, writable } of serving()) {
      if (!writable) found.push(`worker ${process.pid} cannot write: a commit failed, or the disk is nearly full`)
    }
    const storeProblem = findStoreProblem()
    if (storeProblem !== undefined) found.push(`the store is unavailable: ${storeProblem}`)
    return found
  }

  function findStoreProblem(): string | undefined {
    return serving().find(({ storeProblem }) => storeProblem !== undefined)?.storeProblem
  }

  return {
    notReadyReasons,
    storeProblem: findStoreProblem,
    alive: () => silent().length === 0,
    status() {
      const found = notReadyReasons()
      return found.length > 0 ? `not ready: ${found.join('; ')}` : describeWorkers(serving())
    },
  }
}

/** "2 workers serve, version 0.1.0", or the count of each version while there are several. */
function describeWorkers(workers: readonly Child[]): string {
  const counts = new Map<string, number>()
  for (const { version = 'unknown' } of workers) counts.set(version, (counts.get(version) ?? 0) + 1)
  const [first, ...others] = [...counts.keys()].sort()
  const versions =
    others.length === 0
      ? `version ${first}`
      : [...counts].map(([version, count]) => `${count} of version ${version}`).join(', ')
  return `${workers.length} ${workers.length === 1 ? 'worker serves' : 'workers serve'}, ${versions}`
}
