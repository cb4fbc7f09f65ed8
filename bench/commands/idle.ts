/**
 * What do many connections cost that are idle most of the time? Opens them in each round, measures the memory that each
 * takes, and compares the latencies of busy connections beside them with those of busy connections alone.
 *
 *     npm run bench -- idle [--idle N] [options]
 *
 * uWebSockets.js closes a connection that has sent nothing for 10 s, so each idle connection fetches a topic every
 * five.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openCrowd } from '../drivers/crowd.js'
import { runBurst } from '../measure/burst.js'
import { anonymousBytes } from '../measure/memory.js'
import { median } from '../measure/statistics.js'
import { positive, readCommandLine, text, UsageError } from '../options.js'
import type { Exchange, Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, scaleOf, withSession } from '../session.js'
import type { Tree } from '../workloads/tree.js'
import type { Workload } from '../workloads/workload.js'
import { mixed } from '../workloads/writes/mixed.js'
import { overwrite64 } from '../workloads/writes/overwrite.js'

const idleDefault = 10_000
const idleInSmoke = 100

const intervalMs = 5000

/** After the crowd has opened, so that what only the opening cost does not count. */
const settleMs = 1000

/** One burst: alone, or beside the crowd. */
interface Sample {
  readonly workload: string
  readonly beside: boolean
  readonly medianMs: number
  readonly p99Ms: number
}

/** What some rounds have shown. */
interface Findings {
  readonly samples: Sample[]
  /** Bytes by which anonymous memory grew for each idle connection, by round. */
  readonly bytes: number[]
  problem: string | undefined
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { idle: text })
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const idle = positive('idle', own.idle) ?? (options.smoke ? idleInSmoke : idleDefault)
  const server = await topicd(thisBuild)
  return withSession(options, [server], async (session) => {
    const { running, tree, close } = await openOn(server, mixed, session)
    const findings: Findings = { samples: [], bytes: [], problem: undefined }
    try {
      // An uncounted burst first: all code is compiled, and the heap has its size.
      await busyBursts(running, tree, session, -1, undefined, findings)
      for (let round = 0; round < options.rounds && findings.problem === undefined; round++)
        await oneRound(running, tree, session, round, idle, findings)
    } finally {
      await close()
    }
    report(findings, idle, session.print)
    return findings.problem === undefined
  })
}

async function oneRound(
  running: Running,
  tree: Tree,
  session: Session,
  round: number,
  idle: number,
  findings: Findings,
): Promise<void> {
  await busyBursts(running, tree, session, round, false, findings)
  const before = workersBytes(running)
  const crowd = await openCrowd(running, idleFetch(running, tree), idle, intervalMs)
  try {
    await sleep(settleMs)
    findings.bytes.push((workersBytes(running) - before) / idle)
    await busyBursts(running, tree, session, round, true, findings)
    findings.problem ??= crowd.problem()
    if (crowd.answers() < idle) findings.problem ??= `${idle - crowd.answers()} idle connections got no answer`
  } finally {
    crowd.close()
  }
  await sleep(settleMs)
}

/** A burst of each workload; `beside` undefined for one that does not count. */
async function busyBursts(
  running: Running,
  tree: Tree,
  { options, measureOptions }: Session,
  round: number,
  beside: boolean | undefined,
  findings: Findings,
): Promise<void> {
  // Both answer rightly whatever the other has written.
  const workloads: readonly Workload[] = [mixed, overwrite64]
  for (const workload of workloads) {
    const scripts = workload.scripts(tree, scaleOf(workload, options), round)
    const { burst } = await runBurst(running, scripts, options.seconds, measureOptions.driver)
    findings.problem ??= burst.problem
    if (beside === undefined) continue
    const { latencyMedianMs: medianMs, latency99Ms: p99Ms } = burst
    findings.samples.push({ workload: workload.name, beside, medianMs, p99Ms })
  }
}

/** The fetch of a topic that no workload writes. */
function idleFetch(running: Running, tree: Tree): Exchange {
  const { path, value } = tree.item(tree.group - 1)
  const exchange = running.exchange({ kind: 'fetch', path, values: [value] })
  if (exchange === undefined) throw new Error('fetch is not supported')
  return exchange
}

function workersBytes(running: Running): number {
  const [, ...workers] = running.pids()
  return workers.reduce((sum, pid) => sum + anonymousBytes(pid), 0)
}

function report({ samples, bytes, problem }: Findings, idle: number, print: (text: string) => void): void {
  if (problem !== undefined) print(`WRONG ANSWERS: ${problem}`)
  if (bytes.length > 0) {
    // The most: the heap also shrinks meanwhile, and later rounds reuse what the first one allocated.
    const kibibytes = Math.max(...bytes) / 1024
    print(`${idle.toLocaleString('en')} idle connections: ${kibibytes.toFixed(1)} KiB of anonymous memory each`)
  }
  for (const workload of new Set(samples.map(({ workload }) => workload))) {
    const of = (beside: boolean, figure: 'medianMs' | 'p99Ms'): string => {
      const own = samples.filter((sample) => sample.workload === workload && sample.beside === beside)
      return own.length === 0 ? '—' : median(own.map((sample) => sample[figure])).toFixed(2)
    }
    print(
      `${workload.padEnd(14)}p50 ${of(false, 'medianMs')} ms alone, ${of(true, 'medianMs')} ms beside them; ` +
        `p99 ${of(false, 'p99Ms')} ms alone, ${of(true, 'p99Ms')} ms beside them`,
    )
  }
}
