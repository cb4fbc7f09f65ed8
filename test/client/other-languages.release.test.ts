/**
 * Streams of changes as clients of other languages read them, each with its defaults: side by side, over connections that
 * break in the middle of an event, workers that are killed, and reloads. Each goes on where it was, is shown what has
 * not changed only once, and in the end has what a fetch returns. SECONDS=60 runs longer.
 *
 * A client (test/support/clients/) prints the data of each event on a line, and nothing else.
 */
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { servePage, startBrowser, whyNoBrowser } from '../support/browser/browser.js'
import { clientFile, compiled, missing, pythonWith } from '../support/installed.js'
import { type Random, seededRandom } from '../support/random.js'
import { type ChangedItem, type ChangesPage, Fold } from '../support/service/changes.js'
import type { FetchedPage } from '../support/service/client.js'
import { type Pass, Relay } from '../support/service/relay.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { tied } from '../support/tied.js'

const seconds = Number(process.env.SECONDS ?? 8)

t.setTimeout((4 * seconds + 500) * 1000)

/** How many topics, below `fixed`, never change. */
const topics = 200

/** Large enough that a page of these reaches its 64 KiB before it has as many as are asked for. */
const body = JSON.stringify({ selector: '?.*//', size: 1000 })

/** Characters that some take for the end of a line, one beyond the first plane, and what an event begins with. */
const awkward = 'é \u2028 \u2029 \u0085 🙂 \n\ndata: '

/** The first bytes of the data of an event: a connection is cut after them. */
const opening = 'data: {'

/** What is seen and done between a client and the service. */
class Link {
  /** Everything that the client has sent. */
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

  /** How many requests for a stream there were. */
  get requests(): number {
    return this.#sent.match(/POST \S*\/topics\/changes HTTP/g)?.length ?? 0
  }

  /** How many of them went on from an id. */
  get resumptions(): number {
    return this.#sent.match(/^last-event-id: |"since":"/gim)?.length ?? 0
  }

  /** Ends the connection with its next event. */
  cut(): void {
    this.#isCutting = true
  }
}

/** What a client is started with. */
interface Start {
  readonly url: string
  readonly token: string
  readonly onLine: (line: string) => void
  readonly onReport: (line: string) => void
}

/** How to run one client. */
interface Program {
  readonly name: string
  /** Why it cannot be run here; false when it can. */
  readonly skip: string | false
  /** Where its connection may break. A client that is broken off within an event is to ask for that event again. */
  readonly start: (t: Test, start: Start) => Promise<void>
}

/** Node's own reader of lines would also end them at U+2028. */
function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let text = ''
  stream.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (text + piece).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}

/** A client that is a process. Its group ends with it, that is, also the programs that it runs. */
function command(name: string, skip: string | false, make: (t: Test) => readonly string[]): Program {
  return {
    name,
    skip,
    async start(t, { url, token, onLine, onReport }) {
      const [program = '', ...args] = make(t)
      const env = { ...process.env, URL: url, TOKEN: token, BODY: body }
      const child = spawn(...tied(program, args), { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      const closed = once(child, 'close')
      t.teardown(async () => {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
        await closed
      })
      eachLine(child.stdout, onLine)
      eachLine(child.stderr, onReport)
    },
  }
}

function python(library: string): Program {
  const { python, skip } = pythonWith(library)
  return command(`Python's ${library}`, skip, () => [python, clientFile('follow.py'), library])
}

/** Compiles into the test's directory, which exists: the server was started. */
function goProgram(t: Test): string {
  const program = join(t.testdirName, 'follow')
  compiled('go', 'build', '-o', program, clientFile('follow.go'))
  return program
}

/** A page of another origin. */
async function startPage(t: Test, { url, token, onLine, onReport }: Start): Promise<void> {
  const browser = await startBrowser(t)
  const page = await browser.newPage()
  await page.exposeFunction('print', onLine)
  await page.exposeFunction('report', onReport)
  await page.goto(`http://localhost:${pagePort}/`)
  await page.evaluate(`void follow({ ...${JSON.stringify({ url, token, body })}, print, report })`)
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

/** A client that runs, and what it has. */
class Follower {
  readonly fold = new Fold()
  events = 0
  /** How often it was shown each topic that never changes. */
  readonly shown = new Map<string, number>()
  readonly reports: string[] = []

  private constructor(
    readonly program: Program,
    readonly link: Link,
  ) {}

  static async start(t: Test, program: Program, { port, token }: Server): Promise<Follower> {
    const link = new Link()
    const { url } = await Relay.open(t, port, link.pass)
    const follower = new Follower(program, link)
    const onLine = (line: string): void => follower.#take(JSON.parse(line) as ChangesPage)
    await program.start(t, { url, token, onLine, onReport: (line) => follower.reports.push(line) })
    return follower
  }

  /** Waits until this holds; if it never does, says what the client has reported. */
  async until(what: string, holds: (follower: Follower) => boolean): Promise<void> {
    try {
      await until(`${this.program.name}: ${what}`, async () => (holds(this) ? true : undefined))
    } catch (error) {
      const { events, link, reports } = this
      const state = { events, requests: link.requests, resumptions: link.resumptions, reports: reports.slice(-5) }
      throw new Error(JSON.stringify(state), { cause: error })
    }
  }

  #take(page: ChangesPage): void {
    this.events++
    this.fold.take(page)
    for (const { path } of page.results)
      if (path.startsWith('fixed/')) this.shown.set(path, (this.shown.get(path) ?? 0) + 1)
  }
}

/** Changes topics at random, one after the other, through everything that happens to the service. */
class Writer {
  writes = 0
  #isStopping = false
  readonly #loop: Promise<void>

  constructor(
    private readonly server: Server,
    private readonly random: Random,
  ) {
    this.#loop = this.#run()
  }

  /** Repeats a request until it is acknowledged: workers are killed. */
  async post(route: string, body: object): Promise<void> {
    await until(`${route} is acknowledged`, async () => {
      const answer = await this.server.post(route, body).catch(() => undefined)
      if (answer === undefined || answer.status === 503) return
      assert.equal(answer.status, 200, answer.text)
      return true
    })
    this.writes++
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loop
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      // Most topics change once or twice: what a client missed is not mended by a later change.
      const path = `changing/${this.random.oneIn(4) ? this.random.below(this.writes + 1) : this.writes}`
      if (this.random.oneIn(4)) await this.post('remove', { path })
      else await this.post('addAndSet', { path, value: madeValue(this.writes, this.random.below(2000)) })
      await pause(this.random.below(10))
    }
  }
}

function madeValue(n: number, length: number): object {
  return { n, text: awkward.repeat(length / awkward.length) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Every topic, by its path. */
async function fetched({ post }: Server): Promise<ReadonlyMap<string, ChangedItem>> {
  const found = new Map<string, ChangedItem>()
  for (let after: string | undefined, hasMore = true; hasMore; after = [...found.keys()].at(-1)) {
    const { status, text } = await post('fetch', { ...JSON.parse(body), after })
    assert.equal(status, 200, text)
    const page = JSON.parse(text) as FetchedPage
    for (const item of page.results) found.set(item.path, item)
    hasMore = page.has_more
  }
  return found
}

/** The paths of the topics that are not the same in both. */
function differing(a: ReadonlyMap<string, ChangedItem>, b: ReadonlyMap<string, ChangedItem>): readonly string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((path) => !isDeepStrictEqual(a.get(path), b.get(path)))
}

t.test('clients with their defaults follow a service whatever happens to it', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2, flags: ['--cors-origins', `http://localhost:${pagePort}`] })
  const operations = Array.from({ length: topics }, (_, i) => ({
    op: 'addAndSet',
    path: `fixed/${i}`,
    value: madeValue(i, random.below(2000)),
  }))
  for (let i = 0; i < topics; i += 50) await server.post('batch', { operations: operations.slice(i, i + 50) })
  const running = programs.filter(({ skip }) => skip === false)
  const followers = await Promise.all(running.map((program) => Follower.start(t, program, server)))
  for (const follower of followers) await follower.until('it has everything', ({ fold }) => fold.isComplete)
  // Not before: nobody may have to wait for a change to know that there is nothing more.
  const writer = new Writer(server, random)
  t.teardown(() => writer.stop())

  let reloads = 0
  const disturbances: readonly (() => void | Promise<void>)[] = [
    () => followers.forEach(({ link }) => link.cut()),
    () => server.workerPids().forEach((pid) => process.kill(pid, 'SIGKILL')),
    async () => {
      server.signal('SIGHUP')
      reloads++
      await until('a reload', async () => {
        const done = server.timesLogged('rolling restart done')
        return done === reloads ? true : undefined
      })
    },
  ]
  let disturbed = 0
  for (const endMs = Date.now() + seconds * 1000; Date.now() < endMs || disturbed < disturbances.length; disturbed++) {
    await pause(random.below(1000))
    const before = new Map(followers.map((follower) => [follower, follower.link.resumptions]))
    await disturbances[disturbed % disturbances.length]?.()
    for (const follower of followers)
      await follower.until('it goes on', ({ link }) => link.resumptions > (before.get(follower) ?? 0))
    await writer.post('addAndSet', { path: 'disturbed', value: disturbed })
    for (const follower of followers)
      await follower.until('it has the next change', ({ fold }) => fold.topics.get('disturbed')?.value === disturbed)
  }
  await writer.stop()
  await writer.post('addAndSet', { path: 'disturbed', value: 'no more' })
  const expected = await fetched(server)

  t.comment(`${writer.writes} writes, ${disturbed} disturbances`)
  for (const program of programs) {
    await t.test(`${program.name} misses nothing, and goes on where it was`, { skip: program.skip }, async (t) => {
      const follower = followers.find((follower) => follower.program === program) as Follower
      const { fold, link, events, shown } = follower
      await follower.until('it has the last change', ({ fold }) => fold.topics.get('disturbed')?.value === 'no more')
      t.comment(`${events} events over ${link.requests} connections; ${[...new Set(follower.reports)].join('; ')}`)
      t.strictSame(differing(fold.topics, expected), [], 'it has what a fetch returns')
      t.equal(shown.size, topics, 'it was shown all that never changes')
      t.strictSame(
        [...shown].filter(([, times]) => times > 1),
        [],
        'what has not changed is shown once',
      )
      t.ok(link.resumptions >= disturbed, 'it went on from an id each time')
      t.notMatch(follower.reports.join('\n'), /malformed|InvalidChunk/i, 'no response was broken but where it was cut')
    })
  }
})
