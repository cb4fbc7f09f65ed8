/** The service's readiness as seen by the primary: for /readyz, systemd's status and the watchdog. */
import type { Child } from './child.js'
import type { Writers } from './writers.js'

/** Workers and the writer send a heartbeat every second; if one misses several, the service is not ready. */
const heartbeatMsMax = 5000

/** Replacing a writer takes milliseconds while requests wait, so a load balancer must not remove the host because of it. */
const writerAbsentMsMax = 5000

interface ReadinessOptions {
  readonly stopping: () => boolean
  /** The number of workers that should serve. */
  readonly expected: () => number
  readonly serving: () => readonly Child[]
  /** Undefined if the engine needs no writer. */
  readonly writers: Pick<Writers, 'current' | 'absentMs'> | undefined
}

export class Readiness {
  constructor(private readonly options: ReadinessOptions) {}

  /** The reasons why the service is not ready, one sentence each; empty if it is ready. */
  notReadyReasons(): string[] {
    const { stopping, expected, serving, writers } = this.options
    const reasons: string[] = []
    const count = serving().length
    if (stopping()) reasons.push('the service is stopping')
    if (count < expected()) reasons.push(`${count} of ${expected()} workers ${count === 1 ? 'is' : 'are'} serving`)
    const silent = this.#silent()
    if (silent.length > 0) {
      reasons.push(`${nameWorkers(silent)} ${silent.length === 1 ? 'has' : 'have'} been silent for several seconds`)
    }
    if (writers !== undefined) reasons.push(...this.#writerProblems(writers))
    const storeProblem = this.storeProblem()
    if (storeProblem !== undefined) reasons.push(`the store is unavailable: ${storeProblem}`)
    return reasons
  }

  #writerProblems(writers: NonNullable<ReadinessOptions['writers']>): string[] {
    const writer = writers.current()
    if (writer === undefined) {
      const isLate = writers.absentMs() >= writerAbsentMsMax
      return isLate ? ['there has been no writer for several seconds, so writes are waiting'] : []
    }
    const reasons: string[] = []
    if (isSilent(writer)) reasons.push(`the writer, process ${writer.process.pid}, has been silent for several seconds`)
    if (this.isDiskFull === true) reasons.push('the disk is nearly full')
    return reasons
  }

  /** If true, writes that might fill the disk are rejected; undefined while there is no writer. */
  get isDiskFull(): boolean | undefined {
    const writer = this.options.writers?.current()
    return writer && !writer.writable
  }

  /** The reason why the store is unavailable to at least one worker; undefined if it is available to all. */
  storeProblem(): string | undefined {
    return this.options.serving().find(({ storeProblem }) => storeProblem !== undefined)?.storeProblem
  }

  /** True unless a worker is silent. A full disk is ignored, because a restart would not fix it. */
  alive(): boolean {
    return this.#silent().length === 0
  }

  /** The state in one line, for `systemctl status`: the number of workers by version, or the reasons why the service is not ready. */
  status(): string {
    const reasons = this.notReadyReasons()
    return reasons.length > 0 ? `not ready: ${reasons.join('; ')}` : describeWorkers(this.options.serving())
  }

  #silent(): Child[] {
    return this.options.serving().filter(isSilent)
  }
}

function isSilent({ heardMs }: Child): boolean {
  return performance.now() - heardMs >= heartbeatMsMax
}

/** "worker 7", or "workers 7, 8, 9". */
function nameWorkers(workers: readonly Child[]): string {
  return `${workers.length === 1 ? 'worker' : 'workers'} ${workers.map(({ process }) => process.pid).join(', ')}`
}

/** "2 workers are serving, version 0.1.0", or the count of each version if there are several. */
function describeWorkers(workers: readonly Child[]): string {
  const counts = new Map<string, number>()
  for (const { version = 'unknown' } of workers) counts.set(version, (counts.get(version) ?? 0) + 1)
  const [first, ...others] = [...counts.keys()].sort()
  const versions =
    others.length === 0
      ? `version ${first}`
      : [...counts].map(([version, count]) => `${count} of version ${version}`).join(', ')
  return `${workers.length} ${workers.length === 1 ? 'worker is serving' : 'workers are serving'}, ${versions}`
}
