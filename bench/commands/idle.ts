/**
 * What do many connections cost that are idle most of the time? Opens them in each round, measures the memory that each
 * takes, and compares the latencies of fetches and durable writes beside them with those of the same alone.
 *
 *     npm run bench -- idle [--idle N] [options]
 *
 * uWebSockets.js closes a connection that has sent nothing for 10 s, so each idle connection fetches a topic every
 * five. Requests are sent at a fixed rate, whatever the server does (drivers/crowd.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Crowd, openCrowd } from '../drivers/crowd.js'
import { anonymousBytes } from '../measure/memory.js'
import { median, percentile } from '../measure/statistics.js'
import { positive, readCommandLine, text, UsageError } from '../options.js'
import type { Exchange, Running } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { openOn, type Session, withSession } from '../session.js'
import type { Operation } from '../workloads/operation.js'
import type { Tree } from '../workloads/tree.js'
import { mixed } from '../workloads/writes/mixed.js'

const idleDefault = 10_000
const idleInSmoke = 100

const intervalMs = 5000

/** After the crowd has opened, so that what only the opening cost does not count. */
const settleMs = 1000

/** Connections of each kind of request, and requests a second of all of them. */
const busyConnections = 64
const ratePerSecond = { fetches: 2000, 'durable writes': 500 } as const

type Kind = keyof typeof ratePerSecond

/** One kind of request in one round: alone, or beside the crowd. */
interface Sample {
  readonly kind: Kind
  readonly beside: boolean
  readonly latenciesMs: readonly number[]
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
      // What the first round finds of them does not count: all code is compiled, and the heap has its size.
      await busy(running, tree, session, false, { ...findings, samples: [] })
      for (let round = 0; round < options.rounds && findings.problem === undefined; round++)
        await oneRound(running, tree, session, idle, findings)
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
  idle: number,
  findings: Findings,
): Promise<void> {
  await busy(running, tree, session, false, findings)
  const before = workersBytes(running)
  const crowd = await openCrowd(running, exchangeOf(running, tree, 'fetches'), idle, intervalMs)
  try {
    await sleep(settleMs)
    findings.bytes.push((workersBytes(running) - before) / idle)
    await busy(running, tree, session, true, findings)
    findings.problem ??= problemOf(crowd, idle)
  } finally {
    crowd.close()
  }
  await sleep(settleMs)
}

/** Each kind of request for some seconds. */
async function busy(
  running: Running,
  tree: Tree,
  { options }: Session,
  beside: boolean,
  findings: Findings,
): Promise<void> {
  for (const kind of Object.keys(ratePerSecond) as Kind[]) {
    const everyMs = (busyConnections / ratePerSecond[kind]) * 1000
    const crowd = await openCrowd(running, exchangeOf(running, tree, kind), busyConnections, everyMs)
    await sleep(options.seconds * 1000)
    crowd.close()
    findings.problem ??= problemOf(crowd, busyConnections)
    findings.samples.push({ kind, beside, latenciesMs: crowd.latenciesMs })
  }
}

function problemOf({ problem, latenciesMs }: Crowd, answersMin: number): string | undefined {
  const missing = answersMin - latenciesMs.length
  return problem() ?? (missing > 0 ? `${missing} connections got no answer` : undefined)
}

/** Of one topic, which keeps its value. */
function exchangeOf(running: Running, tree: Tree, kind: Kind): Exchange {
  const { path, value } = tree.item(tree.group - 1)
  const operation: Operation =
    kind === 'fetches' ? { kind: 'fetch', path, values: [value] } : { kind: 'overwrite', path, value }
  const exchange = running.exchange(operation)
  if (exchange === undefined) throw new Error(`${operation.kind} is not supported`)
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
  for (const [kind, rate] of Object.entries(ratePerSecond)) {
    const of = (beside: boolean, share: number): string => {
      const own = samples.filter((sample) => sample.kind === kind && sample.beside === beside)
      return own.length === 0 ? '—' : median(own.map((each) => percentile(each.latenciesMs, share))).toFixed(2)
    }
    print(
      `${rate.toLocaleString('en')} ${kind} a second: p50 ${of(false, 0.5)} ms alone, ${of(true, 0.5)} ms beside them; ` +
        `p99 ${of(false, 0.99)} ms alone, ${of(true, 0.99)} ms beside them`,
    )
  }
}
