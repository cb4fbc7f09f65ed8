/**
 * The interface of load generators: run scripts over a number of connections for some seconds, compare EVERY answer
 * with the correct ones, and report. A driver runs in a separate process, so that its CPU time is known.
 */
import type { Exchange } from '../servers/server.js'

/** One burst of load. */
export interface Job {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly blankDigits: boolean
  readonly seconds: number
  /** Each different exchange once. */
  readonly exchanges: readonly Exchange[]
  /** One script per connection: indices of `exchanges`, in order; after the last, it starts again. */
  readonly scripts: readonly (readonly number[])[]
}

/** The result of a burst. Only the latencies are figures of the server. */
export interface Burst {
  /** Answers received; all of them correct unless there is a problem. */
  readonly requests: number
  readonly seconds: number
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  /** CPU time of the driver itself. */
  readonly driverSeconds: number
  /** Answers that each connection received; undefined from a driver that does not tie answers to scripts. */
  readonly answered?: readonly number[]
  /** What was wrong, in words: a body, a status, a time-out, a lost connection. */
  readonly problem?: string
}

export interface Driver {
  readonly name: 'autocannon' | 'wrk'
  readonly version: string
  run(job: Job): Promise<Burst>
  stop(): Promise<void>
}

/** Time after which a missing answer is a failure. */
export const answerSecondsMax = 10

/** Characters of a wrong answer that a problem shows. */
export const shownMax = 300
