/**
 * Under steady load from keep-alive clients that try once more on a closed connection, a rolling restart and a stop lose no
 * acknowledged write and show no client an error other than that closed connection.
 */

import { Agent } from 'node:http'
import t, { type Test } from 'tap'
import { type Reply, send } from '../support/keep-alive.js'
import { at, only } from '../support/only.js'
import { type Server, startServer } from '../support/server.js'

const clients = 24

/** A load that knows what it was told: for each client the number of its last acknowledged write. */
class SteadyLoad {
  readonly acknowledged: number[] = Array.from({ length: clients }, () => 0)
  answers = 0
  retries = 0
  /** What a client saw that it should not. */
  readonly errors: string[] = []
  readonly #server: Server
  readonly #loops: Promise<void>[]
  #stopping = false
  /** While the service ends, nobody there is what a client may see. */
  ending = false

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
    for (let next = 1; !this.#stopping; next++) {
      const write = await this.#sendTwice(agent, 'addAndSet', { path: `steady/${i}`, value: next })
      if (write === undefined) break
      this.acknowledged[i] = next
      const read = await this.#sendTwice(agent, 'fetch', { path: `steady/${i}` })
      if (read === undefined) break
      if (read.text !== `{"path":"steady/${i}","type":"json","value":${next}}`)
        this.errors.push(`read ${read.text} after ${next}`)
    }
    agent.destroy()
  }

  /** Undefined when the service has gone. */
  async #sendTwice(agent: Agent, route: string, body: object): Promise<Reply | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const reply = await send(agent, `${this.#server.url}/topics/${route}`, this.#server.token, body)
        this.answers++
        if (reply.status !== 200) this.errors.push(`${route} was answered ${reply.status}: ${reply.text}`)
        return reply
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        if (this.ending && code === 'ECONNREFUSED') return undefined
        if (attempt === 2 || (code !== 'ECONNRESET' && code !== 'EPIPE')) {
          if (!this.ending) this.errors.push(`${route}: ${String(error)}, attempt ${attempt}`)
          return undefined
        }
        this.retries++
      }
    }
  }
}

async function valuesOf(server: Server): Promise<number[]> {
  const page = only(await server.client.walk('*steady//', { size: clients }))
  const values = new Map(page.results.map(({ path, value }) => [path, value as number]))
  return Array.from({ length: clients }, (_, i) => values.get(`steady/${i}`) ?? 0)
}

function holdsAll(t: Test, values: readonly number[], { acknowledged }: SteadyLoad): void {
  const lost = acknowledged.filter((last, i) => at(values, i) < last).length
  t.equal(lost, 0, `everything acknowledged is there, ${acknowledged.reduce((sum, last) => sum + last, 0)} writes`)
}

t.test('a rolling restart', async (t) => {
  const server = await startServer(t, { workers: 3 })
  const load = new SteadyLoad(server)
  const before = server.workerPids()
  for (let round = 1; round <= 2; round++) {
    const answered = load.answers
    server.signal('SIGHUP')
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (server.log.filter(({ msg }) => msg === 'rolling restart done').length === round) resolve()
        else setTimeout(look, 5)
      }
      look()
    })
    t.ok(load.answers > answered, 'requests were answered meanwhile')
  }
  await load.stop()
  t.strictSame(load.errors, [], `no client saw an error; ${load.retries} tried once more, of ${load.answers} answers`)
  holdsAll(t, await valuesOf(server), load)
  t.equal(before.filter((pid) => server.workerPids().includes(pid)).length, 0, 'every worker is a new one')
  t.equal(server.log.filter(({ msg }) => msg === 'worker died').length, 0, 'and none had died')
})

t.test('a stop', async (t) => {
  const server = await startServer(t, { workers: 3, check: false })
  const load = new SteadyLoad(server)
  await new Promise<void>((resolve) => {
    const look = (): unknown => (load.answers > 500 ? resolve() : setTimeout(look, 5))
    look()
  })
  load.ending = true
  const exit = await server.stop('SIGTERM')
  await load.stop()
  t.strictSame(exit, { code: 0, signal: null }, 'it ends well')
  t.strictSame(load.errors, [], 'no request that was answered was answered badly')
  const again = await startServer(t, { dataDir: server.dataDir, token: server.token })
  holdsAll(t, await valuesOf(again), load)
})
