/**
 * Under steady load from keep-alive clients that retry once on a closed connection, a rolling restart and a stop lose
 * no acknowledged write and show no client an error other than that closed connection.
 */

import { Agent } from 'node:http'
import t, { type Test } from 'tap'
import { at, only } from '../support/elements.js'
import { type Reply, send } from '../support/service/keep-alive.js'
import { type Server, startServer } from '../support/service/server.js'

const clients = 24

/** Load from several clients that knows the number of each client's last acknowledged write. */
class SteadyLoad {
  readonly acknowledged: number[] = Array.from({ length: clients }, () => 0)
  answers = 0
  retries = 0
  /** Errors that no client should have seen. */
  readonly errors: string[] = []
  readonly #server: Server
  readonly #loops: Promise<void>[]
  #stopping = false
  /** While the service ends, a client may lose its connection for good. */
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

  /** Undefined without an answer, which is an error unless the service is ending. */
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
  t.equal(lost, 0, `all ${acknowledged.reduce((sum, last) => sum + last, 0)} acknowledged writes are there`)
}

t.test('a rolling restart loses no acknowledged write and shows no client an error', async (t) => {
  const server = await startServer(t, { workers: 3 })
  const load = new SteadyLoad(server)
  const before = server.workerPids()
  for (let round = 1; round <= 2; round++) {
    const answered = load.answers
    server.signal('SIGHUP')
    await new Promise<void>((resolve) => {
      const poll = (): void => {
        if (server.log.filter(({ msg }) => msg === 'rolling restart done').length === round) resolve()
        else setTimeout(poll, 5)
      }
      poll()
    })
    t.ok(load.answers > answered, 'requests were answered meanwhile')
  }
  await load.stop()
  t.strictSame(load.errors, [], `no client saw an error; ${load.retries} retries, ${load.answers} answers`)
  holdsAll(t, await valuesOf(server), load)
  t.equal(before.filter((pid) => server.workerPids().includes(pid)).length, 0, 'every worker is a new one')
  t.equal(server.log.filter(({ msg }) => msg === 'worker died').length, 0, 'and none had died')
})

t.test('a stop loses no acknowledged write and gives no wrong answer', async (t) => {
  const server = await startServer(t, { workers: 3, check: false })
  const load = new SteadyLoad(server)
  await new Promise<void>((resolve) => {
    const poll = (): unknown => (load.answers > 500 ? resolve() : setTimeout(poll, 5))
    poll()
  })
  load.ending = true
  const exit = await server.stop('SIGTERM')
  await load.stop()
  t.strictSame(exit, { code: 0, signal: null }, 'the service ends with 0')
  t.strictSame(load.errors, [], 'every answer was right')
  const again = await startServer(t, { dataDir: server.dataDir, token: server.token })
  holdsAll(t, await valuesOf(again), load)
})
