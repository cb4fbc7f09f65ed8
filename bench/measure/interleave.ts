/**
 * The measurement of one workload. All servers run side by side and take their bursts in turn, round after round, so that other load on the
 * machine affects all of them. The figure is the CPU time of the server's processes per request served; its ratio to the floor is
 * calculated for each round.
 *
 * The order: start every server on its sandbox, check its responses, warm it up, run the rounds, read written topics back after each burst,
 * stop everything. A server with a problem is not measured any further.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Driver } from '../drivers/driver.js'
import { bare } from '../servers/bare.js'
import { meanResponseBytes } from '../servers/floor.js'
import type { Running, Server } from '../servers/server.js'
import type { Script } from '../workloads/operation.js'
import { Tree } from '../workloads/tree.js'
import type { Scale, Workload } from '../workloads/workload.js'
import { type MeasuredBurst, roundOf, runBurst } from './burst.js'
import { firstProblem, lostWrite } from './check.js'
import type { Outcome, Result, Round } from './result.js'
import { openSandbox, perform, type Sandbox, type SandboxOptions } from './sandbox.js'

/** The parameters of a measurement. */
export interface MeasureOptions {
  readonly rounds: number
  readonly seconds: number
  readonly workers: number
  /** Whether an uncounted burst precedes the first round. */
  readonly warmUp: boolean
  readonly sandboxes: SandboxOptions
  readonly driver: Driver
  /** Drives the workloads whose responses depend on order, which not every driver can check. */
  readonly orderedDriver: Driver
}

/** A server that has started and that takes part until it has a problem. */
interface Participant {
  readonly server: Server
  readonly sandbox: Sandbox
  readonly rounds: Round[]
  problem?: string
}

/** Length of the burst before the first round: enough for all code to be compiled. */
const warmUpSecondsMax = 1

/** Pause before a burst, so that a server finishes its flushes outside the measured time. */
const restMs = 100

/** The round of the checks and the warm-up, so that the first measured round writes other values. */
const warmUpRound = -1

/** Measures a workload at a scale; `bare` must be among the servers for ratios to the floor. */
export async function measure(
  workload: Workload,
  scale: Scale,
  servers: readonly Server[],
  options: MeasureOptions,
): Promise<Result> {
  const measurement = new Measurement(workload, scale, options)
  try {
    await measurement.start(servers)
    await measurement.checkAndWarmUp()
    for (let round = 0; round < options.rounds; round++) await measurement.run(round)
  } finally {
    await measurement.close()
  }
  return measurement.result()
}

class Measurement {
  readonly #workload: Workload
  readonly #scale: Scale
  readonly #options: MeasureOptions
  readonly #tree: Tree
  readonly #driver: Driver
  readonly #participants: Participant[] = []
  /** Servers that did not start. */
  readonly #failed: Outcome[] = []

  constructor(workload: Workload, scale: Scale, options: MeasureOptions) {
    this.#workload = workload
    this.#scale = scale
    this.#options = options
    this.#tree = new Tree(scale.topics, scale.valueBytes)
    this.#driver = workload.ordered ? options.orderedDriver : options.driver
  }

  async start(servers: readonly Server[]): Promise<void> {
    const { workers, sandboxes } = this.#options
    const setting = { workers, responseBytes: meanResponseBytes(this.#scripts(warmUpRound)) }
    for (const server of servers) {
      try {
        const sandbox = await openSandbox(server, this.#tree, setting, sandboxes)
        this.#participants.push({ server, sandbox, rounds: [] })
      } catch (error) {
        this.#failed.push({ server: server.name, rounds: [], problem: String(error) })
      }
    }
  }

  async checkAndWarmUp(): Promise<void> {
    const scripts = this.#scripts(warmUpRound)
    for (const participant of this.#participants) {
      const { running } = participant.sandbox
      await this.#prepare(running, warmUpRound)
      participant.problem = await firstProblem(running, scripts)
      if (participant.problem !== undefined || !this.#options.warmUp) continue
      await this.#prepare(running, warmUpRound)
      const seconds = Math.min(this.#options.seconds, warmUpSecondsMax)
      const { burst } = await runBurst(running, scripts, seconds, this.#driver)
      participant.problem = burst.problem
    }
  }

  /** Runs one burst per server; each round starts with a different server. */
  async run(round: number): Promise<void> {
    const scripts = this.#scripts(round)
    const bursts = new Map<Participant, MeasuredBurst>()
    const healthy = this.#participants.filter(({ problem }) => problem === undefined)
    for (const participant of rotated(healthy, round)) {
      const { running } = participant.sandbox
      await this.#prepare(running, round)
      const measured = await runBurst(running, scripts, this.#options.seconds, this.#driver)
      bursts.set(participant, measured)
      const { problem, answered } = measured.burst
      participant.problem = problem
      if (!participant.server.answersConstants && answered !== undefined)
        participant.problem ??= await lostWrite(running, scripts, answered)
    }
    const floor = [...bursts].find(([{ server }]) => server === bare)?.[1]
    for (const [{ rounds }, measured] of bursts) rounds.push(roundOf(measured, floor))
  }

  async close(): Promise<void> {
    await Promise.all(this.#participants.map(({ sandbox }) => sandbox.close()))
  }

  result(): Result {
    const { name, question, ratioMax, microsecondsPerTopicMax, latencyMedianMsMax } = this.#workload
    const measured = this.#participants.map(({ server, rounds, problem }) => {
      return { server: server.name, rounds, problem }
    })
    return {
      workload: name,
      question,
      scale: this.#scale,
      workers: this.#options.workers,
      driver: this.#driver.name,
      ratioMax,
      topicsPerRequest: this.#workload.topicsPerRequest?.(this.#scale),
      microsecondsPerTopicMax,
      latencyMedianMsMax,
      outcomes: [...measured, ...this.#failed],
    }
  }

  #scripts(round: number): readonly Script[] {
    return this.#workload.scripts(this.#tree, this.#scale, round)
  }

  async #prepare(running: Running, round: number): Promise<void> {
    const operations = this.#workload.before?.(this.#scale, round)
    if (operations !== undefined) await perform(running, operations, true)
    await sleep(restMs)
  }
}

/** The items, rotated each round so that no item is always first. */
function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const first = items.length === 0 ? 0 : round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}
