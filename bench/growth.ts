/**
 * What does a request cost as the work grows: topics, bytes of a value, connections, workers, items of a page? One series
 * of interleaved measurements of topicd and the floor for each, written as SVG plots and as JSON.
 *
 *     npm run bench:growth -- [SERIES…] [options of npm run bench]
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bare } from './contenders/bare.js'
import { thisBuild, topicd } from './contenders/topicd.js'
import { measure, type Result } from './measure/interleave.js'
import { root } from './measure/machine.js'
import { type Options, program, readOptions, UsageError } from './options.js'
import { type Curve, plot } from './report/plot.js'
import { resultLines, summary } from './report/table.js'
import { type Session, scaleOf, withSession } from './session.js'
import type { Scale, Workload } from './work/workload.js'
import { deepCursor } from './workloads/deep-cursor.js'
import { fetchPath } from './workloads/fetch-path.js'
import { overwrite64, overwrite256 } from './workloads/overwrite.js'
import { page10, page100 } from './workloads/page.js'

/** One thing that grows, and the workloads that are measured at each of its sizes. */
interface Series {
  readonly name: string
  readonly title: string
  readonly axis: string
  readonly sizes: readonly number[]
  readonly workloads: readonly Workload[]
  readonly scale?: (size: number) => Partial<Scale>
  readonly workers?: (size: number) => number
}

/** Topics where what grows is not the tree: enough for pages of a thousand, and quickly loaded. */
const someTopics = 10_000

const series: readonly Series[] = [
  {
    name: 'topics',
    title: 'CPU of a request as the tree grows',
    axis: 'topics',
    sizes: [10_000, 100_000, 1_000_000],
    workloads: [fetchPath, deepCursor, overwrite64],
    scale: (topics) => ({ topics }),
  },
  {
    name: 'values',
    title: 'CPU of a request as values grow',
    axis: 'bytes of a value',
    sizes: [20, 100, 1000, 10_000, 100_000],
    workloads: [fetchPath, overwrite64],
    scale: (valueBytes) => ({ valueBytes, topics: someTopics }),
  },
  {
    name: 'connections',
    title: 'CPU of a request as connections grow',
    axis: 'connections',
    sizes: [1, 4, 16, 64, 256, 1000],
    workloads: [fetchPath, page10, overwrite64],
    scale: (connections) => ({ connections, topics: someTopics }),
  },
  {
    name: 'workers',
    title: 'CPU of a request with one worker and with two',
    axis: 'workers',
    sizes: [1, 2],
    workloads: [fetchPath, page10, overwrite256],
    scale: () => ({ topics: someTopics }),
    workers: (workers) => workers,
  },
  {
    name: 'page-size',
    title: 'CPU of a page as it grows',
    axis: 'items of a page',
    sizes: [10, 100, 1000],
    workloads: [{ ...page100, name: 'page', question: 'What does a page cost?' }],
    scale: (pageSize) => ({ pageSize, topics: someTopics }),
  },
]

await program(async () => {
  const argv = process.argv.slice(2)
  const isSeries = (word: string): boolean => series.some(({ name }) => name === word)
  const unknown = argv.filter((word, i) => !word.startsWith('--') && !argv[i - 1]?.startsWith('--') && !isSeries(word))
  if (unknown.length > 0)
    throw new UsageError(`there is no series ${unknown[0]}; there are ${series.map(({ name }) => name).join(', ')}`)
  const wanted = series.filter(({ name }) => argv.includes(name) || !argv.some(isSeries))
  const options = readOptions(argv.filter((word) => !isSeries(word)))
  const contenders = [bare, await topicd(thisBuild)]
  return withSession(options, contenders, async (session) => {
    const directory = join(root, 'bench', 'plots')
    await mkdir(directory, { recursive: true })
    let right = true
    for (const one of wanted) {
      const results = await grow(one, options, session)
      right &&= results.every(({ result }) => result.outcomes.every(({ problem }) => problem === undefined))
      if (options.smoke) continue
      await writeFile(
        join(directory, `${one.name}.svg`),
        plot({ ...one, note: session.machine.line, curves: curves(results) }),
      )
      await writeFile(
        join(directory, `${one.name}.json`),
        JSON.stringify({ machine: session.machine, results }, undefined, 1),
      )
      session.say(`\nwritten: bench/plots/${one.name}.svg and .json`)
    }
    return right
  })

  async function grow(one: Series, options: Options, session: Session): Promise<Sized[]> {
    const results: Sized[] = []
    for (const size of options.smoke ? one.sizes.slice(0, 1) : one.sizes) {
      for (const workload of one.workloads) {
        const scale = scaleOf(workload, { ...options, ...one.scale?.(size) })
        const workers = one.workers?.(size) ?? options.workers
        const result = await measure(workload, scale, contenders, { ...session.measuring, workers })
        results.push({ size, result })
        session.say(`\n${one.axis}: ${size.toLocaleString('en')}\n${resultLines(result).join('\n')}`)
      }
    }
    return results
  }
})

/** A result with the place on the axis where it belongs. */
interface Sized {
  readonly size: number
  readonly result: Result
}

/** One curve for each workload of topicd, and one for the floor under each. */
function curves(results: readonly Sized[]): Curve[] {
  const found = new Map<string, Curve>()
  for (const { size, result } of results) {
    for (const outcome of result.outcomes) {
      const sum = summary(outcome, result.workers)
      if (sum === undefined) continue
      const name = outcome.contender === 'topicd' ? result.workload : `${result.workload}: floor`
      const curve = found.get(name) ?? { name, isFloor: outcome.contender !== 'topicd', points: [] }
      found.set(name, { ...curve, points: [...curve.points, { x: size, y: sum.microseconds }] })
    }
  }
  return [...found.values()]
}
