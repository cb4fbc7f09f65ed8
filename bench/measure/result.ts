/**
 * The result of a measurement: the figures of each server's rounds in one workload. Plain data, which `--json` prints.
 */
import type { Scale } from '../workloads/workload.js'

/** The figures of one burst. */
export interface Round {
  readonly microsecondsPerRequest: number
  /** The cost divided by the floor's in this round; undefined if the floor did not take part. */
  readonly ratio: number | undefined
  readonly requestsPerSecond: number
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  /** CPU seconds per second of the server and of the driver. */
  readonly serverLoad: number
  readonly driverLoad: number
}

/** The rounds of one server. */
export interface Outcome {
  readonly server: string
  readonly rounds: readonly Round[]
  /** Why there are no figures, or why the figures do not count. */
  readonly problem?: string
}

/** The outcomes of all servers of a workload. */
export interface Result {
  readonly workload: string
  readonly question: string
  readonly scale: Scale
  readonly workers: number
  readonly driver: string
  readonly ratioMax?: number
  /** Topics changed per request, if the cost per topic is also reported. */
  readonly topicsPerRequest?: number
  readonly microsecondsPerTopicMax?: number
  readonly latencyMedianMsMax?: number
  readonly outcomes: readonly Outcome[]
}

/** Whether any server's responses were wrong or a server could not be measured. */
export function hasProblem({ outcomes }: Result): boolean {
  return outcomes.some(({ problem }) => problem !== undefined)
}
