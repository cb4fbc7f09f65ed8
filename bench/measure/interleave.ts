/**
 * The measurement: all contenders of a workload run side by side, each takes its burst in turn, and the turns go round, so
 * that whatever else the machine does falls on all of them. The figure is CPU time of the server's processes over the
 * requests they served; its ratio to the floor is formed round by round.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { bare, meanAnswerBytes } from '../contenders/bare.js'
import type { Contender, Exchange, Running } from '../contenders/contender.js'
import type { Burst, Driver, Job } from '../drive/driver.js'
import type { Operation, Script } from '../work/operation.js'
import { Tree } from '../work/tree.js'
import type { Scale, Workload } from '../work/workload.js'
import { firstProblem, lostWrite } from './check.js'
import { type CpuReading, cpuSeconds, readCpu } from './cpu.js'
import { type Homes, type Housed, house, perform } from './home.js'

/** How a workload is measured. */
export interface Measuring {
  readonly rounds: number
  readonly seconds: number
  readonly workers: number
  /** Whether a burst that does not count goes before the first round. */
  readonly warmUp: boolean
  readonly homes: Homes
  /** Drives, and drives what the first cannot. */
  readonly driver: Driver
  readonly orderedDriver: Driver
}

/** One burst as a figure. */
export interface Round {
  readonly microsecondsPerRequest: number
  /** The same over that of the floor in this round, if the floor took part. */
  readonly ratio: number | undefined
  readonly requestsPerSecond: number
  readonly latencyMedianMs: number
  readonly latency99Ms: number
  /** CPU seconds a second of the server and of the driver. */
  readonly serverLoad: number
  readonly driverLoad: number
}

/** What one contender came to. */
export interface Outcome {
  readonly contender: string
  readonly rounds: readonly Round[]
  /** Why there are no figures, or why they do not count. */
  readonly problem?: string
}

export interface Result {
  readonly workload: string
  readonly question: string
  readonly scale: Scale
  readonly workers: number
  readonly driver: string
  readonly ratioMax?: number
  readonly latencyMedianMsMax?: number
  readonly outcomes: readonly Outcome[]
}

/** A contender that has started and takes part until something is wrong with it. */
interface Entrant {
  readonly contender: Contender
  readonly housed: Housed
  readonly rounds: Round[]
  problem?: string
}

/** A burst with the CPU time that the contender used in it. */
interface Measured {
  readonly burst: Burst
  readonly serverSeconds: number
}

/** Length of the burst before the first round, by which all code is compiled. */
const warmUpSecondsMax = 1

/** Rest before a burst, in which a server that has just worked finishes its flushes on its own time. */
const restMs = 100

/** The round that checks and warm-up belong to, so that the first measured round writes other values. */
const warmUpRound = -1

/** Measures a workload at a scale over contenders; the floor has to be among them for ratios. */
export async function measure(
  workload: Workload,
  scale: Scale,
  contenders: readonly Contender[],
  measuring: Measuring,
): Promise<Result> {
  const tree = new Tree(scale.topics, scale.valueBytes)
  const driver = workload.ordered ? measuring.orderedDriver : measuring.driver
  const outcomes: Outcome[] = []
  const entrants: Entrant[] = []
  const scriptsOf = (round: number): readonly Script[] => workload.scripts(tree, scale, round)
  const prepare = async (running: Running, round: number): Promise<void> => {
    if (workload.before !== undefined) await perform(running, workload.before(scale, round), true)
    await sleep(restMs)
  }
  try {
    const warmUp = scriptsOf(warmUpRound)
    const answerBytes = meanAnswerBytes(warmUp)
    for (const contender of contenders) {
      const setting = { workers: measuring.workers, answerBytes }
      const housed = await house(contender, tree, setting, measuring.homes).catch((error: unknown) => String(error))
      if (typeof housed === 'string') outcomes.push({ contender: contender.name, rounds: [], problem: housed })
      else entrants.push({ contender, housed, rounds: [] })
    }
    for (const entrant of entrants) {
      const { running } = entrant.housed
      await prepare(running, warmUpRound)
      entrant.problem = await firstProblem(running, warmUp)
      if (entrant.problem !== undefined) continue
      if (!measuring.warmUp) continue
      await prepare(running, warmUpRound)
      const seconds = Math.min(measuring.seconds, warmUpSecondsMax)
      entrant.problem = (await burst(running, warmUp, seconds, driver)).burst.problem
    }
    for (let round = 0; round < measuring.rounds; round++) {
      const scripts = scriptsOf(round)
      const bursts = new Map<Entrant, Measured>()
      for (const entrant of inTurn(
        entrants.filter((entrant) => entrant.problem === undefined),
        round,
      )) {
        const { running } = entrant.housed
        await prepare(running, round)
        const measured = await burst(running, scripts, measuring.seconds, driver)
        bursts.set(entrant, measured)
        entrant.problem = measured.burst.problem
        const { answered } = measured.burst
        if (entrant.contender !== bare && answered !== undefined)
          entrant.problem ??= await lostWrite(running, scripts, answered)
      }
      const floor = [...bursts].find(([entrant]) => entrant.contender === bare)?.[1]
      for (const [entrant, measured] of bursts) entrant.rounds.push(figures(measured, floor))
    }
  } finally {
    await Promise.all(entrants.map((entrant) => entrant.housed.close()))
  }
  outcomes.unshift(
    ...entrants.map(({ contender, rounds, problem }) => ({ contender: contender.name, rounds, problem })),
  )
  const { name, question, ratioMax, latencyMedianMsMax } = workload
  const { workers } = measuring
  return { workload: name, question, scale, workers, driver: driver.name, ratioMax, latencyMedianMsMax, outcomes }
}

/** The same things, beginning with another one each round, so that none is always first. */
function inTurn<Thing>(things: readonly Thing[], round: number): Thing[] {
  const first = things.length === 0 ? 0 : round % things.length
  return [...things.slice(first), ...things.slice(0, first)]
}

/** One burst of the scripts. Throws when one of the contender's processes ends in it. */
export async function burst(
  running: Running,
  scripts: readonly Script[],
  seconds: number,
  driver: Driver,
): Promise<Measured> {
  const job = jobOf(running, scripts, seconds)
  const pids = running.pids()
  const read = (): CpuReading => readCpu(pids, running.passingPids?.())
  const before = read()
  const result = await driver.run(job)
  return { burst: result, serverSeconds: cpuSeconds(before, read()) }
}

/** Each different operation becomes one exchange. */
function jobOf(running: Running, scripts: readonly Script[], seconds: number): Job {
  const places = new Map<Operation, number>()
  const exchanges: Exchange[] = []
  const place = (operation: Operation): number => {
    const known = places.get(operation)
    if (known !== undefined) return known
    const exchange = running.exchange(operation)
    if (exchange === undefined) throw new Error(`${operation.kind} cannot be done`)
    places.set(operation, exchanges.length)
    return exchanges.push(exchange) - 1
  }
  const { port, headers, blankDigits } = running
  return { port, headers, blankDigits, seconds, scripts: scripts.map((script) => script.map(place)), exchanges }
}

function figures(measured: Measured, floor: Measured | undefined): Round {
  const { burst, serverSeconds } = measured
  return {
    microsecondsPerRequest: cost(measured),
    ratio: floor === undefined ? undefined : cost(measured) / cost(floor),
    requestsPerSecond: burst.requests / burst.seconds,
    latencyMedianMs: burst.latencyMedianMs,
    latency99Ms: burst.latency99Ms,
    serverLoad: serverSeconds / burst.seconds,
    driverLoad: burst.driverSeconds / burst.seconds,
  }
}

function cost(measured: Measured): number {
  return (measured.serverSeconds * 1e6) / measured.burst.requests
}
