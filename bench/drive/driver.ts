/**
 * What every load generator does here: run scripts over so many connections for so long, compare EVERY answer with the
 * right ones, and say what it saw. A driver runs in a process of its own, so that its CPU time is known.
 */
import type { Exchange } from '../contenders/contender.js'

/** One burst of load. */
export interface Job {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
  readonly blankDigits: boolean
  readonly seconds: number
  /** Each different exchange once. */
  readonly exchanges: readonly Exchange[]
  /** One script a connection: places in `exchanges`, in order, and from the start again. */
  readonly scripts: readonly (readonly number[])[]
}

/** What a burst came to. Nothing here is a server's figure except the latencies. */
export interface Burst {
  /** Answers received and found right. */
  readonly requests: number
  readonly seconds: number
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  /** CPU time of the driver itself. */
  readonly driverSeconds: number
  /** Answers that each connection has received; only a driver that runs scripts in order knows. */
  readonly answered?: readonly number[]
  /** What was wrong, in words, if anything was: a wrong body, a status, a time-out, a lost connection. */
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
