/**
 * When a write, a flush or an opening of the store's files fails, whichever it is, no request is wrongly answered 200,
 * the store opens afterwards with everything that was acknowledged, and the log says what failed. Each call of three
 * fixed scenarios fails once: a first start, a start, and a service that writes. DISK_FAULTS=3 tries all of the case
 * with that number, which is a scenario, a call and an error; without it, one of each call is picked at random, and its error.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Client } from '../support/client.js'
import { callsIn, diskCalls, type Fault, mostOf, type TracedCall, tracedNode, tracing } from '../support/faulty-disk.js'
import { reportFigures } from '../support/figures.js'
import { at, only } from '../support/only.js'
import { seededRandom } from '../support/random.js'
import { runCommand, type Server, startServer } from '../support/server.js'
import { Strace, whyNoStrace } from '../support/strace.js'

const scenes = ['first start', 'start', 'service'] as const
type Scene = (typeof scenes)[number]

const errors = ['EIO', 'ENOSPC'] as const

const cases = scenes.flatMap((scene) => diskCalls.flatMap((call) => errors.map((error) => ({ scene, call, error }))))
const chosen = process.env.DISK_FAULTS

/** A request waits so long at most for a worker that replaces one that died. */
const readyMsMax = 3000

/** By then the primary knows what its worker said. */
const heardMs = 30

const topics = 5
const flags = ['--disk-free-bytes-min', String(16 * 1024 * 1024)]

/** Of a service with one failed call: that of the call, and one of its client's connection that is closed. */
const refusalsMax = 2

/** What EIO and ENOSPC are called in messages; lmdb's own code is killed by some. */
const reason = /EIO|ENOSPC|Input\/output error|No space left|its disk failed/i

t.setTimeout(3_600_000)

/** What a topic may hold after a scenario: the last acknowledged value, or one of an unanswered write after it. */
type Expected = Map<string, readonly string[]>

const absent = 'absent'

/** The outcome of a scenario. */
interface Outcome {
  readonly expected: Expected
  /** Requests that did not succeed, or the start. */
  readonly failures: readonly string[]
  /** Everything that the service printed. */
  readonly output: string
  readonly calls: readonly TracedCall[]
}

class Scenario {
  readonly expected: Expected = new Map()
  readonly failures: string[] = []
  readonly #server: Server
  readonly #client: Client

  constructor(server: Server) {
    this.#server = server
    this.#client = server.connect()
  }

  async run(): Promise<void> {
    for (let i = 0; i < topics; i++) {
      const text = String(i).repeat(3000)
      await this.#write('addAndSet', { path: `a/${i}`, value: text }, { [`a/${i}`]: JSON.stringify(text) })
      await this.#write('set', { path: `a/${i}`, value: i }, { [`a/${i}`]: String(i) })
      const operations = ['b', 'c'].map((tree) => ({ op: 'addAndSet', path: `${tree}/${i}`, value: i }))
      await this.#write('batch', { operations }, { [`b/${i}`]: String(i), [`c/${i}`]: String(i) })
      await this.#write('remove', { path: `b/${i}` }, { [`b/${i}`]: absent })
    }
  }

  /** @param after what each topic then holds */
  async #write(route: string, body: object, after: Readonly<Record<string, string>>): Promise<void> {
    await this.#ready()
    let status: number | undefined
    try {
      const answer = await this.#client.post(route, body)
      status = answer.status
      if (status !== 200) this.failures.push(`${route}: ${answer.text}`)
    } catch {
      this.failures.push(`${route}: no answer`)
    }
    for (const [path, text] of Object.entries(after)) {
      const before = this.expected.get(path) ?? [absent]
      this.expected.set(path, status === 200 ? [text] : [...before, text])
    }
  }

  /** Waits a little for a worker, so that a failure costs one request and not all. */
  async #ready(): Promise<void> {
    if (this.failures.length > 0) await new Promise((resolve) => setTimeout(resolve, heardMs))
    for (const endMs = performance.now() + readyMsMax; performance.now() < endMs && this.#server.running; ) {
      const isReady = await fetch(`${this.#server.adminUrl}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
      if (isReady) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Plays a scene in an empty directory, with or without a fault. */
async function play(t: Test, scene: Scene, directory: string, fault?: Fault): Promise<Outcome> {
  const dataDir = join(directory, 'db')
  const log = join(directory, 'strace.log')
  const options = tracing(log, dataDir, fault)
  mkdirSync(directory, { recursive: true })
  const sound = { dataDir, flags, exitCode: undefined, check: false }
  let token: string | undefined
  if (scene === 'start') {
    const before = await startServer(t, sound)
    token = before.token
    await before.stop()
  }
  const node = join(directory, 'traced-node')
  tracedNode(node, options)
  let server: Server
  try {
    server = await startServer(t, scene === 'service' ? sound : { ...sound, token, node })
  } catch (error) {
    return { expected: new Map(), failures: ['the start'], output: (error as Error).message, calls: callsIn(log) }
  }
  if (scene === 'service') await Strace.attachWith(t, only(server.workerPids()), options)
  const scenario = new Scenario(server)
  await scenario.run()
  await server.stop()
  const { expected, failures } = scenario
  return { expected, failures, output: server.output, calls: callsIn(log) }
}

/** What is wrong with the store after a scenario, once the disk works again. */
async function faultsAfter(t: Test, directory: string, { expected }: Outcome): Promise<readonly string[]> {
  const dataDir = join(directory, 'db')
  const key = await runCommand(['keys', 'add', 'reader', '--data', dataDir])
  const token = /topicd_[\w-]+/.exec(key.stdout)?.[0]
  if (token === undefined) return [`no key can be added: ${key.stdout}${key.stderr}`]
  const server = await startServer(t, { dataDir, token, flags, check: false })
  const faults: string[] = []
  for (const [path, texts] of expected) {
    const { code, text } = await server.client.post('fetch', { path })
    const found = code === 'no_such_topic' ? absent : (/"value":(.*)\}$/s.exec(text)?.[1] ?? text)
    if (!texts.includes(found))
      faults.push(`${path} is ${found.slice(0, 40)}, not ${texts.map((text) => text.slice(0, 40))}`)
  }
  await server.stop()
  const check = await runCommand(['check', '--data', dataDir])
  if (check.code !== 0) faults.push(check.stdout + check.stderr)
  return faults
}

t.test('a failing disk never makes a 200 wrong, and is named', { skip: whyNoStrace() }, async (t) => {
  const random = seededRandom(t)
  const base = t.testdir()
  const counts = { cases: 0, faults: 0, injected: 0, refusals: 0, failedStarts: 0 }

  async function tryFault(scene: Scene, fault: Fault): Promise<void> {
    const name = `${scene}, ${fault.call} ${fault.nth}, ${fault.error}`
    const directory = join(base, 'faulty')
    const outcome = await play(t, scene, directory, fault)
    t.strictSame(await faultsAfter(t, directory, outcome), [], `${name}: the store is what was acknowledged`)
    const { failures } = outcome
    if (failures.length > 0) t.match(outcome.output, reason, `${name}: ${failures.length} failures are explained`)
    counts.faults++
    counts.injected += outcome.calls.filter(({ isInjected }) => isInjected).length
    if (scene === 'service') t.ok(failures.length <= refusalsMax, `${name}: ${failures.length} requests without a 200`)
    counts.refusals += failures.length
    if (failures.includes('the start')) counts.failedStarts++
    rmSync(directory, { recursive: true })
  }

  for (const scene of scenes) {
    const sample = diskCalls.map((call) => ({ scene, call, error: random.pick(errors) }))
    const tried = chosen === undefined ? sample : [at(cases, Number(chosen))].filter((each) => each.scene === scene)
    if (tried.length === 0) continue
    const sound = await play(t, scene, join(base, `sound ${scene}`.replaceAll(' ', '-')))
    t.strictSame(sound.failures, [], `${scene}: without faults everything succeeds`)
    for (const { call, error } of tried) {
      const all = Array.from({ length: mostOf(sound.calls, call) }, (_, i) => i + 1)
      const picked = chosen === undefined && all.length > 0 ? [random.pick(all)] : all
      for (const nth of picked) await tryFault(scene, { call, error, nth })
      counts.cases++
    }
  }
  t.ok(counts.faults === 0 || counts.injected > 0, `${counts.injected} calls failed`)
  reportFigures(t, counts)
})
