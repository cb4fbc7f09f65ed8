/**
 * What do many mostly idle connections cost? In each round, opens the connections, measures the memory per connection, and compares the
 * latencies of concurrent fetches and durable writes with the latencies without idle connections.
 *
 *     npm run bench -- idle [--idle N] [options]
 *
 * uWebSockets.js closes a connection that has sent nothing for 10 s, so each idle connection fetches a topic every 5 s. Requests are sent
 * at a fixed rate, regardless of the server's speed (drivers/crowd.ts).
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

/** Time after the crowd has opened, so that the cost of opening does not count. */
const settleMs = 1000

/** Connections per kind of request, and requests per second over all of them. */
const busyConnections = 64
const ratePerSecond = { fetches: 2000, 'durable writes': 500 } as const

type Kind = keyof typeof ratePerSecond

/** One kind of request in one round, with or without the crowd. */
interface Sample {
  readonly kind: Kind
  readonly beside: boolean
  readonly latenciesMs: readonly number[]
}

/** The measurements from all rounds. */
interface Findings {
  readonly samples: Sample[]
  /** Growth of anonymous memory in bytes per idle connection, by round. */
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
      // The first samples do not count; they only warm up the code and the heap.
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

/** Runs each kind of request for `seconds`. */
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
  return problem() ?? (missing > 0 ? `${missing} connections got no response` : undefined)
}

/** The exchange for one topic, whose value stays the same. */
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
  if (problem !== undefined) print(`WRONG RESPONSES: ${problem}`)
  if (bytes.length > 0) {
    // The maximum, because the heap also shrinks at times and later rounds reuse memory that the first one allocated.
    const kibibytes = Math.max(...bytes) / 1024
    print(`${idle.toLocaleString('en')} idle connections: ${kibibytes.toFixed(1)} KiB of anonymous memory each`)
  }
  for (const [kind, rate] of Object.entries(ratePerSecond)) {
    const of = (beside: boolean, share: number): string => {
      const own = samples.filter((sample) => sample.kind === kind && sample.beside === beside)
      return own.length === 0 ? '—' : median(own.map((each) => percentile(each.latenciesMs, share))).toFixed(2)
    }
    print(
      `${rate.toLocaleString('en')} ${kind} per second: p50 ${of(false, 0.5)} ms alone, ${of(true, 0.5)} ms alongside them; ` +
        `p99 ${of(false, 0.99)} ms alone, ${of(true, 0.99)} ms alongside them`,
    )
  }
}
