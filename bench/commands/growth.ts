/**
 * What does a request cost as the work grows: topics, bytes per value, connections, workers, items per page? Each quantity has a series of
 * interleaved measurements of topicd and the floor. The figures are written to dist-bench/plots/*.json, which git ignores, and drawn as
 * bench/plots/*.svg, which the documents show; `--redraw` only draws.
 *
 *     npm run bench -- growth [SERIES…] [--redraw] [options]
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { measure } from '../measure/interleave.js'
import { type Machine, root } from '../measure/machine.js'
import type { Result } from '../measure/result.js'
import { flag, readCommandLine, UsageError } from '../options.js'
import type { Curve } from '../report/plot.js'
import { resultLines, summary } from '../report/table.js'
import { bare } from '../servers/bare.js'
import type { Server } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { allCorrect, type Session, scaleOf, withSession } from '../session.js'
import { deepCursor } from '../workloads/reads/deep-cursor.js'
import { fetchPath } from '../workloads/reads/fetch-path.js'
import { page10, page100 } from '../workloads/reads/page.js'
import type { Scale, Workload } from '../workloads/workload.js'
import { overwrite64, overwrite256 } from '../workloads/writes/overwrite.js'

/** A growing quantity, and the workloads that are measured at each of its sizes. */
interface Series {
  readonly name: string
  readonly title: string
  readonly axis: string
  readonly sizes: readonly number[]
  readonly workloads: readonly Workload[]
  readonly scale?: (size: number) => Partial<Scale>
  readonly workers?: (size: number) => number
}

/** A result and its size. */
interface SizedResult {
  readonly size: number
  readonly result: Result
}

/** The stored figures of one series. */
interface Figures {
  readonly machine: Machine
  readonly results: readonly SizedResult[]
}

/** Topics in the series with a fixed tree: enough for pages of 1,000 items, and quickly loaded. */
const someTopics = 10_000

const svgDirectory = join(root, 'bench/plots')
const jsonDirectory = join(root, 'dist-bench/plots')

const allSeries: readonly Series[] = [
  {
    name: 'topics',
    title: 'CPU time of a request as the tree grows',
    axis: 'topics',
    sizes: [10_000, 100_000, 1_000_000, 10_000_000],
    workloads: [fetchPath, deepCursor, overwrite64],
    scale: (topics) => ({ topics }),
  },
  {
    name: 'values',
    title: 'CPU time of a request as values grow',
    axis: 'bytes per value',
    sizes: [20, 100, 1000, 10_000, 100_000],
    workloads: [fetchPath, overwrite64],
    scale: (valueBytes) => ({ valueBytes, topics: someTopics }),
  },
  {
    name: 'connections',
    title: 'CPU time of a request as connections grow',
    axis: 'connections',
    sizes: [1, 4, 16, 64, 256, 1000],
    workloads: [fetchPath, page10, overwrite64],
    scale: (connections) => ({ connections, topics: someTopics }),
  },
  {
    name: 'workers',
    title: 'CPU time of a request with more workers',
    axis: 'workers',
    sizes: [1, 2, 4, 8, 16],
    workloads: [fetchPath, page10, overwrite256],
    scale: () => ({ topics: someTopics }),
    workers: (workers) => workers,
  },
  {
    name: 'page-size',
    title: 'CPU time of a page as it grows',
    axis: 'items per page',
    sizes: [10, 100, 1000],
    workloads: [{ ...page100, name: 'page', question: 'What does a page cost?' }],
    scale: (pageSize) => ({ pageSize, topics: someTopics }),
  },
]

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { redraw: flag })
  const wanted = words.length === 0 ? allSeries : words.map(seriesNamed)
  if (own.redraw === true) {
    for (const series of wanted) await draw(series)
    return true
  }
  const servers = [bare, await topicd(thisBuild)]
  return withSession(options, servers, async (session) => {
    let areCorrect = true
    for (const series of wanted) {
      const results = await measureSeries(series, servers, session)
      areCorrect &&= allCorrect(results.map(({ result }) => result))
      if (options.smoke) continue
      await mkdir(jsonDirectory, { recursive: true })
      const figures: Figures = { machine: session.machine, results }
      await writeFile(join(jsonDirectory, `${series.name}.json`), JSON.stringify(figures, undefined, 1))
      await draw(series)
      session.print(`\nwritten: bench/plots/${series.name}.svg and dist-bench/plots/${series.name}.json`)
    }
    return areCorrect
  })
}

function seriesNamed(name: string): Series {
  const series = allSeries.find((series) => series.name === name)
  if (series === undefined) throw new UsageError(`unknown series "${name}"`)
  return series
}

async function measureSeries(
  series: Series,
  servers: readonly Server[],
  { options, measureOptions, print }: Session,
): Promise<SizedResult[]> {
  const results: SizedResult[] = []
  for (const size of options.smoke ? series.sizes.slice(0, 1) : series.sizes) {
    for (const workload of options.smoke ? series.workloads.slice(0, 1) : series.workloads) {
      const scale = scaleOf(workload, { ...options, ...series.scale?.(size) })
      const workers = series.workers?.(size) ?? options.workers
      const result = await measure(workload, scale, servers, { ...measureOptions, workers })
      results.push({ size, result })
      print(`\n${series.axis}: ${size.toLocaleString('en')}\n${resultLines(result).join('\n')}`)
    }
  }
  return results
}

/** Draws the figures of the last run. */
async function draw(series: Series): Promise<void> {
  const file = join(jsonDirectory, `${series.name}.json`)
  const json = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} does not exist: measure the series ${series.name} first`)
  })
  const { machine, results } = JSON.parse(json) as Figures
  const { plot } = await import('../report/plot.js')
  await mkdir(svgDirectory, { recursive: true })
  const svg = plot({ ...series, note: machine.line, curves: curves(results) })
  await writeFile(join(svgDirectory, `${series.name}.svg`), svg)
}

/** One curve for each workload of topicd, and one for each workload's floor. */
function curves(results: readonly SizedResult[]): Curve[] {
  const byName = new Map<string, Curve>()
  for (const { size, result } of results) {
    for (const outcome of result.outcomes) {
      const figures = summary(outcome, result.workers)
      if (figures === undefined) continue
      const isFloor = outcome.server !== 'topicd'
      const { workload } = result
      const name = isFloor ? `${workload}: floor` : workload
      const points = byName.get(name)?.points ?? []
      byName.set(name, { name, workload, isFloor, points: [...points, { x: size, y: figures.microseconds }] })
    }
  }
  return [...byName.values()]
}
