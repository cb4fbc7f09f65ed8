/**
 * If any write, flush or opening of the store's files fails, no request is wrongly answered 200. The store opens afterwards with every
 * acknowledged write, and the log names the failure. Each call of three fixed scenes fails once: a first start, a start, and a service that
 * writes. CASE names one case and tries every call of it. Without CASE, one random call of a few random cases is tried.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { DiskScenario } from '../support/faults/disk-scenario.js'
import {
  callsIn,
  type DiskFaultCase,
  diskFaultCases,
  type Fault,
  mostOf,
  type TracedCall,
  tracedNode,
  tracing,
} from '../support/faults/faulty-disk.js'
import { Strace, whyNoStrace } from '../support/faults/strace.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { runCommand, type Server, startServer } from '../support/service/server.js'

const chosen = process.env.CASE

/** Number of cases picked without CASE. */
const sampled = 3

const flags = ['--disk-free-bytes-min', String(16 * 1024 * 1024)]

/** Maximum failures of a service with one failed call: the request of the call, and one request on a connection that closes. */
const refusalsMax = 2

/** A start that takes longer counts as hung. */
const startMsMax = 60_000

/** The nth call may not occur, because the layout of the file differs between runs; then the test tries again. */
const triesMax = 3

/** The names of EIO and ENOSPC in messages. Some of these errors kill lmdb's own code. */
const reason = /EIO|ENOSPC|Input\/output error|No space left|its disk is full or failed/i

/** A log line that reports a failure. */
const severe = /"level":[56]0/

t.setTimeout(3_600_000)

/** The outcome of a scene. */
interface Outcome {
  readonly scenario: DiskScenario
  /** A key of the store; undefined if no key was ever shown. */
  readonly token: string | undefined
  readonly isStarted: boolean
  readonly startMs: number
  /** The complete output of the service. */
  readonly output: string
  readonly calls: readonly TracedCall[]
  /** The calls that the case counts: all, or, in a scene with a start, the calls until the service was up. */
  readonly counted: readonly TracedCall[]
}

/** Plays a scene in an empty directory, with or without a fault. */
async function play(t: Test, { scene, file }: DiskFaultCase, directory: string, fault?: Fault): Promise<Outcome> {
  const dataDir = join(directory, 'db')
  const log = join(directory, 'strace.log')
  const options = tracing(log, dataDir, file, fault)
  mkdirSync(directory, { recursive: true })
  const sound = { dataDir, flags, exitCode: undefined, check: false }
  const scenario = new DiskScenario()
  let token: string | undefined
  if (scene === 'start') {
    const before = await startServer(t, sound)
    token = before.token
    await scenario.run(before, 'before')
    await before.stop()
  }
  const node = join(directory, 'traced-node')
  tracedNode(node, options)
  const startedMs = performance.now()
  const startMs = () => performance.now() - startedMs
  let server: Server
  try {
    server = await startServer(t, scene === 'service' ? sound : { ...sound, token, node })
  } catch (error) {
    const { message } = error as Error
    const calls = callsIn(log)
    return { scenario, token, isStarted: false, startMs: startMs(), output: message, calls, counted: calls }
  }
  const tookMs = startMs()
  const untilUp = callsIn(log)
  if (scene === 'service') await Strace.attachWith(t, Number(server.writerPid()), options)
  await scenario.run(server, 'during')
  await server.stop()
  const { output } = server
  const calls = callsIn(log)
  const counted = scene === 'service' ? calls : untilUp
  return { scenario, token: server.token, isStarted: true, startMs: tookMs, output, calls, counted }
}

/** The faults of the store after a scene, once the disk works again. */
async function faultsAfter(t: Test, directory: string, { scenario, token }: Outcome): Promise<readonly string[]> {
  const dataDir = join(directory, 'db')
  const added =
    token === undefined ? await runCommand(['keys', 'add', 'reader', '--create', '--data', dataDir]) : undefined
  const known = token ?? /topicd_[\w-]+/.exec(added?.stdout ?? '')?.[0]
  if (known === undefined) return [`no key can be added: ${added?.stdout}${added?.stderr}`]
  let server: Server
  try {
    server = await startServer(t, { dataDir, token: known, flags, check: false })
  } catch (error) {
    return [`the store does not open: ${(error as Error).message}`]
  }
  await scenario.check(server)
  await server.stop()
  const check = await runCommand(['check', '--data', dataDir])
  return check.code === 0 ? scenario.faults : [...scenario.faults, check.stdout + check.stderr]
}

/** The share of the counted calls that must fail: the layout of the file decides how many calls a commit takes. */
const failedShareMin = 0.5

type Counts = Record<'cases' | 'faults' | 'injected' | 'refusals' | 'failedStarts' | 'harmless' | 'wrong', number>

/** Injects a fault into the nth call of a case. @returns whether the call occurred; if not, no thread reached it */
async function tryFault(t: Test, base: string, tried: DiskFaultCase, nth: number, counts: Counts): Promise<boolean> {
  const { name, scene, call, error } = tried
  const directory = join(base, 'faulty')
  try {
    const outcome = await play(t, tried, directory, { call, error, nth })
    const injected = outcome.calls.filter(({ isInjected }) => isInjected).length
    const wrong = await faultsAfter(t, directory, outcome)
    t.strictSame(wrong, [], `${name}, ${nth}: the store has every acknowledged write`)
    counts.wrong += wrong.length
    if (injected === 0) {
      const most = mostOf(outcome.calls, call)
      t.ok(most < nth, `${name}, ${nth}: only ${most} calls occurred`)
      return false
    }
    t.ok(outcome.startMs < startMsMax, `${name}, ${nth}: the start does not hang`)
    const { failures } = outcome.scenario
    const hadEffect = !outcome.isStarted || failures.length > 0 || severe.test(outcome.output)
    if (hadEffect) t.match(outcome.output, reason, `${name}, ${nth}: the failure is explained`)
    // LMDB opens the file once more often than it needs to.
    else counts.harmless++
    if (scene === 'service') t.ok(failures.length <= refusalsMax, `${name}, ${nth}: ${failures.length} without a 200`)
    counts.faults++
    counts.injected += injected
    counts.refusals += failures.length
    if (!outcome.isStarted) counts.failedStarts++
    return true
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

t.test('a failing disk causes no false 200, and the log names it as the cause', { skip: whyNoStrace() }, async (t) => {
  const random = seededRandom(t)
  const base = t.testdir()
  const counts: Counts = { cases: 0, faults: 0, injected: 0, refusals: 0, failedStarts: 0, harmless: 0, wrong: 0 }
  const tried =
    chosen === undefined
      ? Array.from({ length: sampled }, () => random.pick(diskFaultCases))
      : diskFaultCases.filter(({ name }) => name === chosen)
  for (const each of tried) {
    const sound = await play(t, each, join(base, 'sound'))
    rmSync(join(base, 'sound'), { recursive: true })
    t.strictSame(sound.scenario.failures, [], `${each.scene}: without faults everything succeeds`)
    const most = mostOf(sound.counted, each.call)
    t.ok(most > 0, `${each.name}: a thread has ${most} calls`)
    const all = Array.from({ length: most }, (_, i) => i + 1)
    const wanted = chosen === undefined && most > 0 ? [random.pick(all)] : all
    let failed = 0
    for (const nth of wanted) {
      let isInjected = false
      for (let tries = 0; tries < triesMax && !isInjected; tries++) {
        isInjected = await tryFault(t, base, each, nth, counts)
      }
      if (isInjected) failed++
    }
    // A random call may be one of the last, which few runs have.
    if (wanted === all) t.ok(failed >= most * failedShareMin, `${each.name}: ${failed} of ${most} calls have failed`)
    counts.cases++
  }
  t.ok(counts.cases > 0, `${counts.cases} cases`)
  reportResults(t, { ...counts })
})
