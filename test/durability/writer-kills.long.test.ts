/**
 * The writer is killed again and again under load. No request of clients that never retry fails, none is carried out
 * twice, and none is lost: each creation says that it created its topic, each removal that it removed one, a counter that
 * is incremented by compare-and-set and a number that `update` of the client library adds to have the exact sums, and so
 * do batches of transfers. KILLS=300 kills more often.
 */
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { Transfers } from '../support/load/transfers.js'
import { reportFigures } from '../support/proof-figures.js'
import { seededRandom } from '../support/random.js'
import type { Client } from '../support/service/client.js'
import { type Server, startServer, until } from '../support/service/server.js'

const kills = Number(process.env.KILLS ?? 12)

/** Clients that create topics and remove them again, and clients that add to one number. */
const creators = 16
const adders = 4

t.setTimeout((kills * 3 + 180) * 1000)

/** Creates, sets and removes topics of its own, one after the other, and notes what was answered otherwise than wanted. */
class Creators {
  readonly wrong: string[] = []
  readonly kept: string[] = []
  done = 0
  slowestMs = 0
  readonly #loops: Promise<void>[]
  #isStopping = false

  constructor(server: Server) {
    this.#loops = Array.from({ length: creators }, (_, number) => this.#run(server.connect(), number))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  async #run(client: Client, number: number): Promise<void> {
    for (let next = 0; !this.#isStopping; next++) {
      const path = `created/${number}/${next}`
      await this.#expect(client, 'addAndSet', { path, value: next }, `{"path":"${path}","created":true}`)
      await this.#expect(client, 'set', { path, value: -next, constraint: { value: next } }, `{"path":"${path}"}`)
      if (next % 2 === 0) this.kept.push(path)
      else await this.#expect(client, 'remove', { path }, `{"removed":1}`)
    }
  }

  async #expect(client: Client, route: string, body: object, wanted: string): Promise<void> {
    const startMs = performance.now()
    const text = await client.post(route, body).then(
      (answer) => answer.text,
      (error: Error) => error.message,
    )
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startMs)
    this.done++
    if (text !== wanted) this.wrong.push(`${route} ${JSON.stringify(body)}: ${text}`)
  }
}

t.test('no request fails, is carried out twice, or is lost when the writer is killed', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  const transfers = new Transfers({ random, target: () => server })
  await transfers.start(server.client)
  const loop = { isOver: false }
  const added = Array.from({ length: adders }, () => addUntil(server, loop))
  const creations = new Creators(server)
  for (let killed = 0; killed < kills; killed++) {
    // One that is killed while it opens the store leaves no spare, so the writes wait for the start of another.
    const replaced = (): number => server.log.filter(({ msg }) => msg === 'writer replaced').length
    await until('the next writer', async () => replaced() === killed || undefined)
    const writer = await until('a writer', async () => server.writerPid())
    await new Promise((resolve) => setTimeout(resolve, random.below(300)))
    const before = transfers.done
    process.kill(writer, 'SIGKILL')
    await until('the next writer writes', async () => transfers.done > before || undefined)
  }
  loop.isOver = true
  await Promise.all([transfers.stop(), creations.stop()])
  const sums = await Promise.all(added)
  const sum = sums.reduce((all, one) => all + one)
  t.comment(`${transfers.summary}; ${creations.done} requests of creators, ${sum} added`)
  const { done, wrong, kept, slowestMs } = creations
  reportFigures(t, {
    kills,
    transfers: transfers.done,
    requests: done,
    added: sum,
    wrong: wrong.length,
    slowestMsMax: slowestMs,
  })
  t.strictSame(
    wrong.slice(0, 5),
    [],
    `${done} creations, settings and removals were answered as if nothing had happened`,
  )
  t.strictSame(await transfers.faults(server.client), [], 'every sum and the counter are right')
  t.equal(transfers.unknown + transfers.counter.unknown, 0, 'every transfer and every increment was answered')
  t.match(await server.client.post('fetch', { path: 'sum' }), { text: `"value":${sum}}` }, 'each update counts once')
  const found = await server.client.walk('?created//')
  const paths = found.flatMap(({ results }) => results.map(({ path }) => path))
  t.strictSame(paths.toSorted(), kept.toSorted(), `exactly the ${kept.length} topics that were kept are there`)
  t.equal(server.log.filter(({ msg }) => msg === 'worker died').length, 0, 'no worker ended')
})

/** Adds 1 to one number, each time by `update` of the client library. @returns how often it did */
async function addUntil(server: Server, loop: { readonly isOver: boolean }): Promise<number> {
  const client = connect(server.url, { key: server.token })
  let added = 0
  for (; !loop.isOver; added++) {
    await client.update('sum', (item) => Number(item?.value ?? 0) + 1, { attemptsMax: Infinity })
  }
  return added
}
