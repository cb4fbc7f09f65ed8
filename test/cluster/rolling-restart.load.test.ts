/**
 * Rolling restarts and a stop under steady load from clients that follow docs/http-clients.md: they resend a request once if its kept-alive
 * connection was closed. No request fails, no acknowledged write is lost, new settings take effect, and no write waits for a writer to
 * start, because the new one is loaded before the old one exits. The test also measures that wait: it kills the spare with the writer, so
 * that another process must start.
 */
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { at, only, present } from '../support/elements.js'
import { LongestWaits, listOf } from '../support/load/longest-waits.js'
import { reportResults } from '../support/proof-results.js'
import { type Reply, send } from '../support/service/sender.js'
import { type Server, startServer, until } from '../support/service/server.js'

const clients = 12
const rounds = 2

/** Pause between two requests of a client, in ms. Without it, the clients use up the time that the service needs. */
const pauseMs = 5

t.setTimeout(600_000)

/** Clients that write a number, read it back, and remember the last acknowledged number. */
class SteadyLoad {
  readonly acknowledged: number[] = Array.from({ length: clients }, () => 0)
  readonly waits = new LongestWaits(clients)
  retries = 0
  /** Errors that no client should have seen. */
  readonly errors: string[] = []
  /** Set while the service stops, when a client may lose its connection permanently. */
  ending = false
  readonly #server: Server
  readonly #loops: Promise<void>[]
  #stopping = false

  constructor(server: Server) {
    this.#server = server
    this.#loops = this.acknowledged.map((_, i) => this.#loop(i))
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }

  async #loop(i: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const path = `steady/${i}`
    for (let next = 1; !this.#stopping; next++) {
      const write = await this.waits.time(i, () => this.#sendTwice(agent, 'addAndSet', { path, value: next }))
      if (write === undefined) break
      this.acknowledged[i] = next
      const read = await this.#sendTwice(agent, 'fetch', { path })
      if (read === undefined) break
      if (read.text !== `{"path":"${path}","type":"json","value":${next}}`)
        this.errors.push(`read ${read.text} after ${next}`)
      await sleep(pauseMs)
    }
    agent.destroy()
  }

  /** Returns undefined without a response, which is an error unless the service is stopping. */
  async #sendTwice(agent: Agent, route: string, body: object): Promise<Reply | undefined> {
    const attempt = () => send(agent, `${this.#server.url}/topics/${route}`, this.#server.token, body)
    try {
      const reply = await attempt().catch((error: Error & { reused: boolean }) => {
        if (!error.reused) throw error
        this.retries++
        return attempt()
      })
      if (reply.status !== 200) this.errors.push(`${route} got ${reply.status}: ${reply.text}`)
      return reply
    } catch (error) {
      if (!this.ending) this.errors.push(`${route}: ${String(error)}`)
      return undefined
    }
  }
}

async function holdsAll(t: Test, { client }: Server, { acknowledged }: SteadyLoad): Promise<void> {
  const page = only(await client.walk('*steady//', { size: clients }))
  const values = new Map(page.results.map(({ path, value }) => [path, value as number]))
  const lost = acknowledged.filter((_, i) => (values.get(`steady/${i}`) ?? 0) < at(acknowledged, i)).length
  t.equal(lost, 0, `all ${acknowledged.reduce((sum, last) => sum + last, 0)} acknowledged writes are there`)
}

/** Kills the writer and its spare. Resolves once another process writes. */
async function killBoth(server: Server): Promise<void> {
  const before = server.timesLogged('writer replaced')
  const [writer, spare] = [present(server.writerPid()), present(server.sparePid())]
  process.kill(spare, 'SIGKILL')
  process.kill(writer, 'SIGKILL')
  await until('the next writer runs', async () => server.timesLogged('writer replaced') > before || undefined)
}

const directory = t.testdir()
const settings = join(directory, 'topicd.env')
writeFileSync(settings, 'TOPICD_PAGE_SIZE_MAX=100\n')
const server = await startServer(t, { workers: 3, dataDir: join(directory, 'db'), flags: ['--settings', settings] })

await t.test('no request fails while workers and the writer are replaced', async (t) => {
  const load = new SteadyLoad(server)
  const { waits } = load
  const first = server.workerPids()
  const [reloadMs, startMs]: [number[], number[]] = [[], []]
  for (let round = 1; round <= rounds; round++) {
    await server.spareLoaded()
    const writer = server.writerPid()
    writeFileSync(settings, `TOPICD_PAGE_SIZE_MAX=${100 + round}\n`)
    await waits.take()
    server.signal('SIGHUP')
    await until('the restart is over', async () => server.timesLogged('rolling restart done') === round || undefined)
    reloadMs.push(await waits.take())
    t.not(server.writerPid(), writer, 'another process writes')
    await server.spareLoaded()
    await waits.take()
    await killBoth(server)
    startMs.push(await waits.take())
  }
  await load.stop()
  const waited = `the longest waits, in ms: ${listOf(reloadMs)}; for a start: ${listOf(startMs)}`
  t.comment(`${waits.answered} writes, ${load.retries} retries; ${waited}`)
  reportResults(t, { reloads: rounds, writes: waits.answered, waitedMsMax: Math.max(...reloadMs) })
  t.strictSame(load.errors, [], 'no client saw an error')
  await holdsAll(t, server, load)
  t.notOk(
    server.workerPids().some((pid) => first.includes(pid)),
    'every worker is a new one',
  )
  t.equal(server.timesLogged('worker died'), 0, 'no worker had died')
  // The shortest waits are compared, because other work of the machine only adds to them.
  t.ok(Math.min(...startMs) > Math.min(...reloadMs), 'a write waits longer if a writer must start')
})

await t.test('after reloads, every worker uses the current settings of the file', async (t) => {
  for (let i = 0; i < 2 * server.client.connections; i++) {
    t.match(await server.post('fetch', { selector: '*steady//', size: 100 + rounds }), { status: 200 })
    t.match(await server.post('fetch', { selector: '*steady//', size: 101 + rounds }), { code: 'invalid_parameter' })
  }
})

await t.test('a reload with an invalid setting logs the setting and changes nothing', async (t) => {
  const before = server.workerPids()
  writeFileSync(settings, 'TOPICD_PAGE_SIZE_MAX=none\n')
  server.signal('SIGHUP')
  const { reason } = await server.logged('rolling restart failed')
  t.equal(reason, `${settings} line 1: TOPICD_PAGE_SIZE_MAX is "none"; it must be a whole number from 1 to 100000`)
  t.strictSame(server.workerPids(), before, 'the same workers')
  t.match(await server.post('fetch', { selector: '*steady//', size: 100 + rounds }), { status: 200 })
})

await t.test('stopping the service loses no acknowledged write and causes no incorrect response', async (t) => {
  const load = new SteadyLoad(server)
  await until('the load runs', async () => load.waits.answered > 500 || undefined)
  load.ending = true
  t.strictSame(await server.stop(), { code: 0, signal: null }, 'the service exits with 0')
  await load.stop()
  t.strictSame(load.errors, [], 'every response was correct')
  await holdsAll(t, await startServer(t, { dataDir: server.dataDir, token: server.token }), load)
})
