/**
 * Clients that write without a pause while `topicd reload` replaces the writer and the workers: no write fails, and none
 * waits for a writer to start, since the new one is loaded before the old one ends. How long that would be is measured
 * beside: with the writer its spare is killed, so that another process has to start.
 */
import { Agent } from 'node:http'
import t from 'tap'
import { present } from '../support/elements.js'
import { LongestWaits, listOf } from '../support/load/longest-waits.js'
import { reportResults } from '../support/proof-results.js'
import { send } from '../support/service/keep-alive.js'
import { scrape } from '../support/service/metrics.js'
import { type Server, startServer, until } from '../support/service/server.js'

const clients = 16
const rounds = 3

t.setTimeout(600_000)

/** Writes without a pause, each client to a topic of its own; it sends again what a closed connection has lost. */
class Writes {
  readonly failed: string[] = []
  readonly waits = new LongestWaits(clients)
  readonly #server: Server
  readonly #loops: Promise<void>[]
  #isStopping = false

  constructor(server: Server) {
    this.#server = server
    this.#loops = Array.from({ length: clients }, (_, number) => this.#run(number))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  async #run(number: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let value = 1; !this.#isStopping; value++) {
      const problem = await this.waits.time(number, () => this.#write(agent, { path: `waits/${number}`, value }))
      if (problem !== undefined) this.failed.push(`${value} of ${number}: ${problem}`)
    }
    agent.destroy()
  }

  /** @returns how it failed */
  async #write(agent: Agent, body: object): Promise<string | undefined> {
    const { url, token } = this.#server
    const attempt = () => send(agent, `${url}/topics/addAndSet`, token, body)
    try {
      const { status, text } = await attempt().catch((error: Error & { reused: boolean }) => {
        if (!error.reused) throw error
        return attempt()
      })
      return status === 200 ? undefined : `${status} ${text}`
    } catch (error) {
      return String(error)
    }
  }
}

/** Resolves once a spare is loaded. */
async function spareOf(server: Server): Promise<void> {
  const isLoaded = async () => (await scrape(server.adminUrl)).value('topicd_writer_spare_up') === 1 || undefined
  await until('a spare', isLoaded)
}

/** Kills the writer and its spare. Resolves once another process writes. */
async function killBoth(server: Server): Promise<void> {
  const replaced = (): number => server.log.filter(({ msg }) => msg === 'writer replaced').length
  const before = replaced()
  const [writer, spare] = [present(server.writerPid()), present(server.sparePid())]
  process.kill(spare, 'SIGKILL')
  process.kill(writer, 'SIGKILL')
  await until('the next writer', async () => replaced() > before || undefined)
}

t.test('writes go on while a reload replaces the writer and the workers', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const writes = new Writes(server)
  const { waits } = writes
  const reloadMs: number[] = []
  const startMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    await spareOf(server)
    const writer = server.writerPid()
    await waits.take()
    t.match(await server.command('reload'), { code: 0 }, 'it reloads')
    reloadMs.push(await waits.take())
    t.not(server.writerPid(), writer, 'another process writes')
    await spareOf(server)
    await waits.take()
    await killBoth(server)
    startMs.push(await waits.take())
  }
  await writes.stop()
  t.comment(`${waits.answered} writes; the longest waits, in ms: ${listOf(reloadMs)}; for a start: ${listOf(startMs)}`)
  reportResults(t, { reloads: rounds, writes: waits.answered, waitedMsMax: Math.max(...reloadMs) })
  t.strictSame(writes.failed, [], 'no write fails')
  // The shortest of both, since what else a machine does only adds to them.
  t.ok(Math.min(...startMs) > Math.min(...reloadMs), 'a write waits longer for a writer to start')
})
