/** A run from its options to its last line: contenders found, drivers started, workloads measured, results shown. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { bare } from './contenders/bare.js'
import { stopChildren } from './contenders/child.js'
import type { Contender } from './contenders/contender.js'
import { etcd } from './contenders/etcd.js'
import { fastify } from './contenders/fastify.js'
import { redis } from './contenders/redis.js'
import { thisBuild, topicd } from './contenders/topicd.js'
import { autocannonDriver } from './drive/autocannon.js'
import type { Driver } from './drive/driver.js'
import { wrkDriver } from './drive/wrk.js'
import { removeUnused } from './measure/home.js'
import { type Measuring, measure, type Result } from './measure/interleave.js'
import { type Machine, machine } from './measure/machine.js'
import { type PromiseRow, promisesKept } from './measure/promises.js'
import { type Options, UsageError } from './options.js'
import { promiseTable, ratioTable, resultLines, verdicts } from './report/table.js'
import { topicsOfBytes } from './work/tree.js'
import type { Scale, Workload } from './work/workload.js'

/** Topics of a tree in a smoke run, and of one whose values are big. */
const smokeTopics = 500
const smokeBigTopics = 50
const bigBytesMin = 10_000

/** Most bytes of values in a tree: several contenders hold one each, kept and in use. */
const treeBytesMax = 250_000_000

/** What a run shares among its workloads. */
export interface Session {
  readonly measuring: Measuring
  readonly machine: Machine
  readonly say: (text: string) => void
}

/** Runs what the options ask for. @returns whether all answers were right */
export async function bench(options: Options): Promise<boolean> {
  const all = [bare, await topicd(thisBuild), fastify, redis, etcd]
  const contenders = chosen(all, options)
  return withSession(options, contenders, async (session) => {
    const results: Result[] = []
    for (const workload of options.workloads) {
      const taking = contenders.filter(
        ({ name }) => workload.contenders === 'all' || name === 'bare' || name === 'topicd',
      )
      const result = await measure(workload, scaleOf(workload, options), taking, session.measuring)
      results.push(result)
      session.say(`\n${resultLines(result).join('\n')}`)
    }
    const storing = contenders.filter(({ homeKey }) => homeKey !== undefined)
    const comparable = storing.length > 1 ? storing : []
    const promises = await promisesKept(comparable, session.measuring, options.smoke)
    show(options, session, results, promises)
    return results.every((result) => result.outcomes.every(({ problem }) => problem === undefined))
  })
}

/** Sets a run up, runs `body`, and takes everything down again, whatever happens. */
export async function withSession<Value>(
  options: Options,
  contenders: readonly Contender[],
  body: (session: Session) => Promise<Value>,
): Promise<Value> {
  const say = (text: string): void => (options.json ? console.error(text) : console.log(text))
  const temporary = await mkdtemp(join(options.temporary, 'topicd-bench-run-'))
  const orderedDriver = autocannonDriver(temporary)
  try {
    const driver = options.driver === 'wrk' ? installedWrk(temporary) : orderedDriver
    const versions = [...contenders, ...new Set([driver, orderedDriver])].map(({ version }) => version)
    const about = machine(
      temporary,
      versions.filter((version) => version !== undefined),
    )
    say(about.line)
    for (const warning of about.warnings) say(`WARNING: ${warning}`)
    const homes = { kept: options.kept, temporary, say }
    await removeUnused(options.kept)
    const { rounds, seconds, workers } = options
    const measuring = { rounds, seconds, workers, warmUp: !options.smoke, homes, driver, orderedDriver }
    return await body({ measuring, machine: about, say })
  } finally {
    await orderedDriver.stop()
    await stopChildren()
    await rm(temporary, { recursive: true, force: true })
  }
}

/** The scale of a workload under the options. Big values make a smaller tree, whatever was asked for. */
export function scaleOf(workload: Workload, options: Options): Scale {
  const { scale } = workload
  const valueBytes = options.valueBytes ?? scale.valueBytes
  const small = valueBytes >= bigBytesMin ? smokeBigTopics : smokeTopics
  const topics = options.topics ?? (options.smoke ? small : scale.topics)
  return {
    topics: Math.min(topics, topicsOfBytes(treeBytesMax, valueBytes)),
    connections: options.connections ?? (options.smoke ? Math.min(scale.connections, 16) : scale.connections),
    valueBytes,
    pageSize: options.pageSize ?? scale.pageSize,
  }
}

/** The contenders asked for; all that can run when none are named. Says loudly who is left out. */
function chosen(all: readonly Contender[], options: Options): Contender[] {
  const wanted = options.contenders ?? all.map(({ name }) => name)
  for (const name of wanted) {
    if (!all.some((contender) => matches(contender, name))) throw new UsageError(`there is no contender ${name}`)
  }
  const asked = all.filter((contender) => wanted.some((name) => matches(contender, name)))
  for (const { name, missing } of asked) {
    if (missing === undefined) continue
    if (name === 'topicd' || options.contenders !== undefined) throw new UsageError(`${name} cannot run: ${missing}`)
    console.error(`LEFT OUT: ${name}, since ${missing}.`)
  }
  return asked.filter(({ missing }) => missing === undefined)
}

function matches(contender: Contender, name: string): boolean {
  return contender.name === name || contender.name.split(' ')[0] === name
}

function installedWrk(temporary: string): Driver {
  const driver = wrkDriver(temporary)
  if (driver === undefined) throw new UsageError('--driver wrk: wrk is not installed')
  return driver
}

function show(options: Options, session: Session, results: readonly Result[], promises: readonly PromiseRow[]): void {
  const { machine, say } = session
  if (options.json) {
    console.log(JSON.stringify({ machine, workers: options.workers, results, promises }, undefined, 2))
    return
  }
  say(`\n${ratioTable(results).join('\n')}`)
  if (promises.some(({ kept }) => Object.keys(kept).length > 0)) say(`\n${promiseTable(promises).join('\n')}`)
  const missed = results.flatMap((result) =>
    verdicts(result)
      .filter(({ met }) => !met)
      .map(({ words }) => `${result.workload}: ${words}`),
  )
  if (missed.length > 0) say(`\n${missed.join('\n')}`)
}
