/**
 * Does memory grow? Samples the resident set of each worker during minutes of mixed load (nine fetches per durable
 * write), and fits a line to its low points.
 *
 *     npm run bench -- memory [--minutes N] [--workers N] [options]
 *
 * The verdict is about anonymous memory (heap, buffers). It rises and falls with garbage collection, so the low points
 * of equal intervals are compared: a leak raises those too. File-backed memory is the mapped store, which the kernel
 * caches: it grows to the size of the data and can be reclaimed at any time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { runBurst } from '../measure/burst.js'
import { type ResidentSet, residentSet } from '../measure/memory.js'
import { median, regression } from '../measure/statistics.js'
import { flag, positive, readCommandLine, text, UsageError } from '../options.js'
import type { Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, withSession } from '../session.js'
import type { Tree } from '../workloads/tree.js'
import type { Scale } from '../workloads/workload.js'
import { mixed } from '../workloads/writes/mixed.js'

const defaultMinutes = 10

/** In a smoke run, whose verdict does not count. */
const smokeMinutes = 0.04
const smokeSampleMs = 50

/** Time between two readings of /proc. */
const sampleMs = 2000

/** Length of one burst of the driver; there is no pause between bursts. */
const burstSeconds = 20

/** Share of the time that does not count, at the start: caches fill, and the heap reaches its size. */
const settlingShare = 0.3

/** Intervals of the remaining time, each of which has its low point. */
const intervals = 10

/** Memory counts as flat if it grows by at most this share of its median over the remaining time. */
const growthMax = 0.1

const mebibyte = 1024 ** 2

interface Sample extends ResidentSet {
  readonly seconds: number
}

/** The load's result, and the samples of each worker. */
interface Observed {
  readonly requests: number
  readonly problem: string | undefined
  readonly workers: readonly (readonly Sample[])[]
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { minutes: text, json: flag })
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const minutes = positive('minutes', own.minutes) ?? (options.smoke ? smokeMinutes : defaultMinutes)
  const server = await topicd(thisBuild)
  return withSession(options, [server], async (session) => {
    const { print } = session
    const { running, tree, scale, close } = await openOn(server, mixed, session)
    const observed = await observe(running, tree, scale, minutes * 60, session).finally(close)
    const { requests, problem, workers } = observed
    print(`${requests.toLocaleString('en')} requests in ${minutes} minutes, ${scale.connections} connections`)
    if (problem !== undefined) print(`WRONG ANSWERS: ${problem}`)
    const verdicts = workers.map((samples, i) => verdict(samples, i + 1))
    for (const { line } of verdicts) print(line)
    if (options.json) console.log(JSON.stringify({ minutes, requests, workers }))
    return problem === undefined && (options.smoke || verdicts.every(({ isFlat }) => isFlat))
  })
}

/** Sends load for some seconds and samples the memory of each worker meanwhile. */
async function observe(
  running: Running,
  tree: Tree,
  scale: Scale,
  seconds: number,
  { options, measureOptions }: Session,
): Promise<Observed> {
  const [, ...pids] = running.pids()
  const workers = pids.map((pid) => ({ pid, samples: [] as Sample[] }))
  const start = performance.now()
  const elapsed = (): number => (performance.now() - start) / 1000
  let requests = 0
  let problem: string | undefined
  let loading = true
  const load = async (): Promise<void> => {
    for (let round = 0; elapsed() < seconds && problem === undefined; round++) {
      const length = Math.min(burstSeconds, Math.max(1, seconds - elapsed()))
      const { burst } = await runBurst(running, mixed.scripts(tree, scale, round), length, measureOptions.driver)
      requests += burst.requests
      problem = burst.problem
    }
  }
  const watch = async (): Promise<void> => {
    while (loading) {
      for (const { pid, samples } of workers) samples.push({ seconds: elapsed(), ...residentSet(pid) })
      await sleep(options.smoke ? smokeSampleMs : sampleMs)
    }
  }
  await Promise.all([load().finally(() => (loading = false)), watch()])
  return { requests, problem, workers: workers.map(({ samples }) => samples) }
}

/** What one worker's memory did, and whether it is flat. */
function verdict(samples: readonly Sample[], worker: number): { isFlat: boolean; line: string } {
  const end = samples.at(-1)?.seconds ?? 0
  const settled = samples.filter(({ seconds }) => seconds >= end * settlingShare)
  const [first, last] = [settled.at(0), settled.at(-1)]
  if (first === undefined || last === undefined || settled.length < 2 * intervals)
    throw new UsageError('--minutes is too short for a verdict')
  const seconds = last.seconds - first.seconds
  const { slope, slopeError } = regression(lowPoints(settled))
  const growth = slope * seconds
  const error = 2 * slopeError * seconds
  const anonymous = settled.map((sample) => sample.anonymous)
  const usual = median(anonymous)
  const isFlat = growth <= Math.max(growthMax * usual, error)
  const mebibytes = (bytes: number, digits = 0): string => (bytes / mebibyte).toFixed(digits)
  const line = [
    `worker ${worker}: ${isFlat ? 'flat' : 'GROWS'}:`,
    `${mebibytes(usual)} MiB anonymous [${mebibytes(Math.min(...anonymous))}–${mebibytes(Math.max(...anonymous))}],`,
    `low points ${growth < 0 ? '' : '+'}${mebibytes(growth, 1)} MiB over the last ${(seconds / 60).toFixed(1)} minutes`,
    `(± ${mebibytes(error, 1)}), and ${mebibytes(last.fileBacked)} MiB of mapped files`,
  ].join(' ')
  return { isFlat, line }
}

/** The sample with the least anonymous memory in each interval. */
function lowPoints(samples: readonly Sample[]): [seconds: number, bytes: number][] {
  return Array.from({ length: intervals }, (_, i) => {
    const part = samples.slice((i * samples.length) / intervals, ((i + 1) * samples.length) / intervals)
    const low = part.reduce((least, sample) => (sample.anonymous < least.anonymous ? sample : least))
    return [low.seconds, low.anonymous]
  })
}
