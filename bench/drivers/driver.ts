/**
 * The interface of load generators: run scripts over several connections for a few seconds, compare EVERY response with the correct ones,
 * and report. A driver runs in a separate process, so that its CPU time is known.
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
  /** One script per connection: indices of `exchanges`, in order, repeated from the start after the last. */
  readonly scripts: readonly (readonly number[])[]
}

/** The result of a burst. Only the latencies are figures of the server. */
export interface Burst {
  /** Responses received; all correct unless there is a problem. */
  readonly requests: number
  readonly seconds: number
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  /** CPU time of the driver itself. */
  readonly driverSeconds: number
  /** Responses received per connection; undefined if the driver does not tie responses to scripts. */
  readonly answered?: readonly number[]
  /** The error in words: a wrong body or status, a timeout, a lost connection. */
  readonly problem?: string
}

export interface Driver {
  readonly name: 'autocannon' | 'wrk'
  readonly version: string
  run(job: Job): Promise<Burst>
  stop(): Promise<void>
}

/** Time after which a missing response is a failure. */
export const answerSecondsMax = 10

/** Characters of a wrong response that a problem shows. */
export const shownMax = 300
