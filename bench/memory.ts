/**
 * Does memory grow? The resident set of each worker over minutes of mixed load (nine fetches, one durable write), and a
 * line through its low points: flat, or so much growth.
 *
 *     npm run bench:memory -- [--minutes N] [--workers N] [other options of npm run bench]
 *
 * Anonymous memory (heap, buffers) is what counts and what the verdict is about. It goes up and down with the collections
 * of garbage, so the low points of equal stretches of time are looked at: a leak lifts those too. File-backed memory is the
 * mapped store: the kernel's cache, which grows to the size of the data and can be taken back at any time.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { thisBuild, topicd } from './contenders/topicd.js'
import { house } from './measure/home.js'
import { burst } from './measure/interleave.js'
import { median, regression } from './measure/statistics.js'
import { program, readOptions, UsageError } from './options.js'
import { scaleOf, withSession } from './session.js'
import { Tree } from './work/tree.js'
import { mixed } from './workloads/mixed.js'

/** Between two looks at /proc. */
const sampleMs = 2000

/** Length of one burst of the driver; there is no pause between two. */
const burstSeconds = 20

/** The first part of the time, in which caches fill and the heap finds its size, is not judged. */
const settlingPart = 0.3

/** Stretches of the judged time, each of which has its low point. */
const stretches = 10

/** Growth over the judged time, as a part of the median, up to which memory is called flat. */
const growthMax = 0.1

const mebibyte = 1024 ** 2

interface Sample {
  readonly seconds: number
  readonly anonymous: number
  readonly fileBacked: number
}

await program(async () => {
  const argv = process.argv.slice(2)
  const { minutes, rest } = withoutMinutes(argv)
  const options = readOptions(rest)
  const contender = await topicd(thisBuild)
  return withSession(options, [contender], async ({ measuring, say }) => {
    const scale = scaleOf(mixed, options)
    const tree = new Tree(scale.topics, scale.valueBytes)
    const { running, close } = await house(
      contender,
      tree,
      { workers: options.workers, answerBytes: 2 },
      measuring.homes,
    )
    const [, ...workers] = running.pids()
    const samples = new Map(workers.map((pid): [number, Sample[]] => [pid, []]))
    const start = performance.now()
    const elapsed = (): number => (performance.now() - start) / 1000
    let requests = 0
    let problem: string | undefined
    let loading = true
    const load = async (): Promise<void> => {
      for (let round = 0; elapsed() < minutes * 60 && problem === undefined; round++) {
        const seconds = Math.min(burstSeconds, Math.max(1, minutes * 60 - elapsed()))
        const { burst: done } = await burst(running, mixed.scripts(tree, scale, round), seconds, measuring.driver)
        requests += done.requests
        problem = done.problem
      }
    }
    const watch = async (): Promise<void> => {
      while (loading) {
        for (const [pid, seen] of samples) seen.push({ seconds: elapsed(), ...residentSet(pid) })
        await sleep(sampleMs)
      }
    }
    try {
      await Promise.all([load().finally(() => (loading = false)), watch()])
    } finally {
      await close()
    }
    say(`${requests.toLocaleString('en')} requests in ${minutes} minutes, ${scale.connections} connections`)
    if (problem !== undefined) say(`WRONG ANSWERS: ${problem}`)
    const verdicts = [...samples.values()].map((seen, worker) => judged(seen, worker, say))
    if (options.json) console.log(JSON.stringify({ minutes, requests, workers: [...samples.values()] }))
    return problem === undefined && verdicts.every((flat) => flat)
  })
})

/** Says what one worker's memory did. @returns whether it is flat */
function judged(samples: readonly Sample[], worker: number, say: (text: string) => void): boolean {
  const last = samples[samples.length - 1]
  const settled = samples.filter(({ seconds }) => seconds >= last.seconds * settlingPart)
  if (settled.length < 2 * stretches) throw new UsageError('the time is too short to judge by')
  const line = regression(lowPoints(settled))
  const usual = median(settled.map(({ anonymous }) => anonymous))
  const seconds = last.seconds - settled[0].seconds
  const growth = line.slope * seconds
  const flat = growth <= Math.max(growthMax * usual, 2 * line.slopeError * seconds)
  const least = Math.min(...settled.map(({ anonymous }) => anonymous))
  const most = Math.max(...settled.map(({ anonymous }) => anonymous))
  say(
    [
      `worker ${worker + 1}: ${flat ? 'flat' : 'GROWS'}:`,
      `${(usual / mebibyte).toFixed(0)} MiB anonymous [${(least / mebibyte).toFixed(0)}–${(most / mebibyte).toFixed(0)}],`,
      `its low points ${growth < 0 ? '' : '+'}${(growth / mebibyte).toFixed(1)} MiB over the last ${(seconds / 60).toFixed(1)} minutes`,
      `(± ${((2 * line.slopeError * seconds) / mebibyte).toFixed(1)}), and ${(last.fileBacked / mebibyte).toFixed(0)} MiB of mapped files`,
    ].join(' '),
  )
  return flat
}

/** The sample with the least anonymous memory in each stretch. */
function lowPoints(samples: readonly Sample[]): [seconds: number, bytes: number][] {
  return Array.from({ length: stretches }, (_, i) => {
    const part = samples.slice((i * samples.length) / stretches, ((i + 1) * samples.length) / stretches)
    const low = part.reduce((least, sample) => (sample.anonymous < least.anonymous ? sample : least))
    return [low.seconds, low.anonymous]
  })
}

function residentSet(pid: number): Omit<Sample, 'seconds'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  return { anonymous: kibibytes('RssAnon') * 1024, fileBacked: (kibibytes('RssFile') + kibibytes('RssShmem')) * 1024 }
}

function withoutMinutes(argv: readonly string[]): { minutes: number; rest: string[] } {
  const at = argv.indexOf('--minutes')
  if (at < 0) return { minutes: 10, rest: [...argv] }
  const minutes = Number(argv[at + 1])
  if (!(minutes > 0)) throw new UsageError(`--minutes is a number above 0, not ${argv[at + 1]}`)
  return { minutes, rest: argv.filter((_, i) => i !== at && i !== at + 1) }
}
