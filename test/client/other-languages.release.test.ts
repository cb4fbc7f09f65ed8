/**
 * Clients in other languages with their defaults (test/support/clients/) follow a service across connections that break within
 * an event, kills of workers, and reloads. Each prints the data of each event on a line. ROUNDS=20 is a longer run.
 */
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { connect, type Item } from '../../dist/client/index.js'
import { servePage, startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { clientFile, compiled, missing, pythonWith } from '../support/installed.js'
import { Publisher } from '../support/publishers.js'
import { type Random, seededRandom } from '../support/random.js'
import { type ChangesPage, Fold } from '../support/service/changes.js'
import { type Pass, Relay } from '../support/service/relay.js'
import { type Server, startServer, until } from '../support/service/server.js'

const rounds = Number(process.env.ROUNDS ?? 3)

t.setTimeout(600_000 + rounds * 60_000)

/** The number of topics, below `fixed`, that never change. */
const topics = 200

/** The requested size exceeds the number of these topics that fit into a page's 64 KiB. */
const body = JSON.stringify({ selector: '?.*//', size: 1000 })

/** Characters that some programs take for a line end, one outside the first plane, and the start of an event. */
const awkward = 'é \u2028 \u2029 \u0085 🙂 \n\ndata: '

/** The first bytes of an event's data, after which a connection is cut. */
const opening = 'data: {'

/** The connections between one client and the service. */
class Link {
  #sent = ''
  #isCutting = false

  readonly pass: Pass = (bytes, to, ends) => {
    if (to === 'service') this.#sent += bytes.toString('latin1')
    const data = to === 'client' && this.#isCutting ? bytes.lastIndexOf(opening) : -1
    if (data < 0) return void ends[to].write(bytes)
    this.#isCutting = false
    ends.client.end(bytes.subarray(0, data + opening.length))
    ends.service.destroy()
  }

  /** The number of requests that resumed at an id. */
  get resumptions(): number {
    return this.#sent.match(/^last-event-id: |"since":"/gim)?.length ?? 0
  }

  /** Cuts the connection at its next event. */
  cut(): void {
    this.#isCutting = true
  }
}

/** A running client: its output and its error reports. */
type Running = Pick<Publisher, 'output' | 'errors'>

interface Program {
  readonly name: string
  /** The reason why the program cannot run here; false if it can. */
  readonly skip: string | false
  readonly start: (t: Test, url: string, token: string) => Running | Promise<Running>
}

/** A client that runs as a process. */
function command(name: string, skip: string | false, line: (t: Test) => [string, ...string[]]): Program {
  return { name, skip, start: (t, url, token) => Publisher.start(t, line(t), { URL: url, TOKEN: token, BODY: body }) }
}

function python(library: string): Program {
  const { python, skip } = pythonWith(library)
  return command(`Python's ${library}`, skip, () => [python, clientFile('follow.py'), library])
}

/** Compiles into the test's directory, which exists because the server was started. */
function goProgram(t: Test): string {
  const program = join(t.testdirName, 'follow')
  compiled('go', 'build', '-o', program, clientFile('follow.go'))
  return program
}

/** Follows in a page from another origin. */
async function startPage(t: Test, url: string, token: string): Promise<Running> {
  const running = { output: '', errors: '' }
  const page = await (await startBrowser(t)).newPage()
  await page.exposeFunction('print', (line: string) => (running.output += `${line}\n`))
  await page.exposeFunction('report', (line: string) => (running.errors += `${line}\n`))
  await page.goto(`http://localhost:${pagePort}/`)
  await page.evaluate(`void follow({ ...${JSON.stringify({ url, token, body })}, print, report })`)
  return running
}

const follow = readFileSync(clientFile('follow.mjs'), 'utf8')
const pagePort = await servePage(t, `<!doctype html><script type="module">${follow}; window.follow = follow</script>`)

const programs: readonly Program[] = [
  command('curl', missing('curl', '--version'), () => ['bash', clientFile('follow.sh')]),
  python('requests'),
  python('httpx'),
  command("Go's net/http", missing('go', 'version'), (t) => [goProgram(t)]),
  command("Java's HttpClient", missing('java', '-version'), () => ['java', clientFile('Follow.java')]),
  command("Node's fetch", false, () => [process.execPath, clientFile('follow-in-node.mjs')]),
  command('fetch-event-source', false, () => [process.execPath, clientFile('follow-with-library.mjs')]),
  { name: 'fetch in Chromium', skip: whyNoBrowser(), start: startPage },
]

class Follower {
  readonly fold = new Fold()
  /** The number of times that each unchanging topic was received. */
  readonly shown = new Map<string, number>()

  private constructor(
    readonly program: Program,
    readonly link: Link,
    readonly running: Running,
  ) {}

  static async start(t: Test, program: Program, { port, token }: Server): Promise<Follower> {
    const link = new Link()
    const { url } = await Relay.open(t, port, link.pass)
    return new Follower(program, link, await program.start(t, url, token))
  }

  /** Waits until the condition holds; on a timeout, throws the client's error reports. */
  async until(what: string, holds: (follower: Follower) => boolean): Promise<void> {
    const isReached = async (): Promise<true | undefined> => {
      this.#takeLines()
      return holds(this) || undefined
    }
    await until(`${this.program.name}: ${what}`, isReached).catch((error) => {
      throw new Error(this.running.errors.slice(-1000), { cause: error })
    })
  }

  #takeLines(): void {
    const lines = this.running.output.split('\n')
    this.running.output = lines.pop() ?? ''
    for (const page of lines.map((line) => JSON.parse(line) as ChangesPage)) {
      this.fold.take(page)
      for (const { path } of page.results)
        if (path.startsWith('fixed/')) this.shown.set(path, (this.shown.get(path) ?? 0) + 1)
    }
  }
}

/** Repeats a request until it is acknowledged, because workers are killed. */
async function write({ post }: Server, route: string, request: object): Promise<void> {
  await until(`${route} is acknowledged`, async () => {
    const answer = await post(route, request).catch(() => undefined)
    if (answer === undefined || answer.status === 503) return
    assert.equal(answer.status, 200, answer.text)
    return true
  })
}

const madeValue = (n: number, length: number): object => ({ n, text: awkward.repeat(length / awkward.length) })

/** Changes random topics one at a time until the signal is aborted. Most topics change once, so that no later change hides a loss. */
async function keepChanging(server: Server, random: Random, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const path = `changing/${random.oneIn(4) ? random.below(n + 1) : n}`
    if (random.oneIn(4)) await write(server, 'remove', { path })
    else await write(server, 'addAndSet', { path, value: madeValue(n, random.below(2000)) })
    // Slow enough for every client.
    await setTimeout(random.below(10))
  }
}

t.test('clients with defaults follow a service through broken connections, killed workers and reloads', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2, flags: ['--cors-origins', `http://localhost:${pagePort}`] })
  for (let i = 0; i < topics; i++)
    await server.post('addAndSet', { path: `fixed/${i}`, value: madeValue(i, random.below(2000)) })
  const running = programs.filter(({ skip }) => skip === false)
  const followers = await Promise.all(running.map((program) => Follower.start(t, program, server)))
  for (const follower of followers) await follower.until('it has everything', ({ fold }) => fold.isComplete)
  // Changes start only now: a client must not need a change to learn that the initial state is complete.
  const done = new AbortController()
  const changing = keepChanging(server, random, done.signal)

  const disturbances: readonly (() => unknown)[] = [
    () => followers.forEach(({ link }) => link.cut()),
    () => server.workerPids().forEach((pid) => process.kill(pid, 'SIGKILL')),
    () => server.command('reload'),
  ]
  const disturb = async (value: number): Promise<void> => {
    const before = new Map(followers.map((follower) => [follower, follower.link.resumptions]))
    await disturbances[value % disturbances.length]?.()
    for (const follower of followers)
      await follower.until('it resumes', ({ link }) => link.resumptions > (before.get(follower) ?? 0))
    await write(server, 'addAndSet', { path: 'disturbed', value })
    for (const follower of followers)
      await follower.until('it has the next change', ({ fold }) => fold.topics.get('disturbed')?.value === value)
  }
  for (let n = 0; n < rounds * disturbances.length; n++) await disturb(n)
  done.abort()
  await changing
  await write(server, 'addAndSet', { path: 'disturbed', value: 'no more' })
  const expected = new Map<string, Item>()
  for await (const item of connect(server.url, { key: server.token }).walk('?.*//')) expected.set(item.path, item)

  for (const program of programs) {
    await t.test(`${program.name} misses no change and resumes at its last id`, { skip: program.skip }, async (t) => {
      const follower = followers.find((follower) => follower.program === program) as Follower
      const { fold, link, shown } = follower
      await follower.until('it has the last change', ({ fold }) => fold.topics.get('disturbed')?.value === 'no more')
      const paths = [...new Set([...fold.topics.keys(), ...expected.keys()])]
      const valuesDiffer = (path: string): boolean =>
        !isDeepStrictEqual(fold.topics.get(path)?.value, expected.get(path)?.value)
      t.strictSame(paths.filter(valuesDiffer), [], 'the client has the topics that a fetch returns')
      t.equal(shown.size, topics, 'the client received all unchanging topics')
      t.ok(
        [...shown.values()].every((times) => times === 1),
        'only once',
      )
      t.ok(link.resumptions >= rounds * disturbances.length, 'the client resumed at an id each time')
      t.notMatch(follower.running.errors, /malformed|InvalidChunk/i, 'no response was broken, except by a cut')
    })
  }
})
