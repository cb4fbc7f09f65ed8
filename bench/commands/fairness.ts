/**
 * How long do others wait beside one client that sends batches without pause? Compares the median latencies of single
 * overwrites, and of fetches by path, over a few connections: alone, and beside a connection that sends one batch after
 * the other.
 *
 *     npm run bench -- fairness [--operations N] [options]
 *
 * Every answer is checked, those to the batches too. With one worker, fetches share its core with the batches.
 */

import { Writer } from '../drivers/writer.js'
import { runBurst } from '../measure/burst.js'
import { median } from '../measure/statistics.js'
import { positive, readCommandLine, text, UsageError } from '../options.js'
import type { Exchange, Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, withSession } from '../session.js'
import type { Tree } from '../workloads/tree.js'
import { deal, everyVariant, type Scale, usualScale, variantsOf, type Workload } from '../workloads/workload.js'
import { overwrites } from '../workloads/writes/overwrite.js'

const operationsDefault = 100

const connectionsDefault = 8

/** Different batches of the stream, before it starts again with other values. */
const batchesDistinct = 20

/** Target: the most that the median of single writes may be beside the stream, as a multiple of that alone. */
const writeRatioMax = 3

const singleWrites: Workload = {
  name: 'overwrite',
  question: 'What does a durable addAndSet cost over a few connections?',
  scale: { ...usualScale, connections: connectionsDefault },
  servers: 'floor only',
  ordered: false,
  scripts: overwrites,
}

/** Topics that are fetched, whatever values they have by then. */
const topicsFetched = 2000

const fetches: Workload = {
  ...singleWrites,
  name: 'fetch',
  question: 'What does a fetch by path cost over a few connections?',
  scripts(tree, scale, round) {
    const own = deal(tree.sample(topicsFetched, 100 + round), scale.connections)
    return own.map((indices) =>
      indices.map((index) => {
        const values = everyVariant.map((variant) => tree.value(index, variant))
        return { kind: 'fetch' as const, path: tree.path(index), values }
      }),
    )
  },
}

/** What some rounds have shown. */
interface Findings {
  /** Medians of bursts in ms, by workload. */
  readonly alone: Map<Workload, number[]>
  readonly beside: Map<Workload, number[]>
  /** Batches per second beside each burst. */
  readonly batches: number[]
  problem: string | undefined
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { operations: text })
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const operations = positive('operations', own.operations) ?? operationsDefault
  const server = await topicd(thisBuild)
  return withSession(options, [server], async (session) => {
    const { running, tree, scale, close } = await openOn(server, singleWrites, session)
    const findings: Findings = { alone: new Map(), beside: new Map(), batches: [], problem: undefined }
    try {
      // Uncounted bursts first, so that all code is compiled.
      const warmUp: Findings = { alone: new Map(), beside: new Map(), batches: [], problem: undefined }
      await oneRound(running, tree, scale, session, -1, operations, warmUp)
      findings.problem = warmUp.problem
      for (let round = 0; round < options.rounds && findings.problem === undefined; round++)
        await oneRound(running, tree, scale, session, round, operations, findings)
    } finally {
      await close()
    }
    const isFair = report(findings, operations, session.print)
    return findings.problem === undefined && (isFair || options.smoke)
  })
}

async function oneRound(
  running: Running,
  tree: Tree,
  scale: Scale,
  { options, measureOptions }: Session,
  round: number,
  operations: number,
  findings: Findings,
): Promise<void> {
  for (const workload of [singleWrites, fetches]) {
    for (const medians of [findings.alone, findings.beside]) {
      const isBeside = medians === findings.beside
      const scripts = workload.scripts(tree, scale, round)
      const startMs = performance.now()
      const stream = isBeside ? new Writer(running, streamOf(running, tree, operations), 0) : undefined
      const { burst } = await runBurst(running, scripts, options.seconds, measureOptions.driver)
      await stream?.stop()
      findings.problem ??= burst.problem ?? stream?.problem
      if (stream?.answers === 0 || stream?.wasLost) findings.problem ??= 'the stream of batches got no answers'
      if (stream !== undefined) findings.batches.push((stream.answers * 1000) / (performance.now() - startMs))
      medians.set(workload, [...(medians.get(workload) ?? []), burst.latencyMedianMs])
    }
  }
}

/** The requests of the stream: batches of random topics, with one variant and then with the other. */
function streamOf(running: Running, tree: Tree, operations: number): Exchange[] {
  const indices = tree.sample(batchesDistinct * operations, 900)
  const count = Math.max(1, Math.floor(indices.length / operations))
  return variantsOf(0).flatMap((variant) =>
    Array.from({ length: count }, (_, i) => {
      const own = indices.slice(i * operations, (i + 1) * operations)
      const writes = own.map((index) => ({ path: tree.path(index), value: tree.value(index, variant) }))
      const exchange = running.exchange({ kind: 'batch', writes })
      if (exchange === undefined) throw new Error('batch is not supported')
      return exchange
    }),
  )
}

/** Prints the figures. @returns whether single writes met their target */
function report({ alone, beside, batches, problem }: Findings, operations: number, print: Session['print']): boolean {
  if (problem !== undefined) print(`WRONG ANSWERS: ${problem}`)
  if (batches.length === 0) return false
  print(`beside one client's batches of ${operations}, ${median(batches).toFixed(0)} a second:`)
  const ratio = (workload: Workload): number => {
    const [before, after] = [alone, beside].map((medians) => median(medians.get(workload) ?? [])) as [number, number]
    const words = `p50 ${before.toFixed(2)} ms alone, ${after.toFixed(2)} ms beside them`
    print(`${workload.name.padEnd(14)}${words}: ${(after / before).toFixed(2)} ×`)
    return after / before
  }
  const isMet = ratio(singleWrites) <= writeRatioMax
  ratio(fetches)
  print(`target: single overwrites wait at most ${writeRatioMax} × as long: ${isMet ? 'met' : 'MISSED'}`)
  return isMet
}
