/**
 * The writer is killed repeatedly under load. No request of clients that never retry fails, is executed twice, or is lost. Each creation
 * reports that it created its topic, and each removal that it removed one. A counter incremented by compare-and-set, a number changed by
 * `update` of the client library, and batches of transfers have exact sums. Most kills happen when a spare is loaded, which responds sooner
 * than a writer that must first start. The others happen while it loads. KILLS=300 kills more often.
 */
import t from 'tap'
import { connect } from '../../dist/client/index.js'
import { LongestWaits, listOf } from '../support/load/longest-waits.js'
import { Transfers } from '../support/load/transfers.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import type { Client } from '../support/service/client.js'
import { type Server, startServer, until } from '../support/service/server.js'

const kills = Number(process.env.KILLS ?? 8)

/** One kill in this many happens while the spare is loading. */
const killsToAnEarlyOne = 4

/**
 * Minimum ratio of response times: the best while the spare is loading, to the best with a loaded spare. The best are compared because
 * other work of the machine only adds to them.
 */
const laterMin = 1.5

/** Clients that create topics and remove them again, and clients that add to one number. */
const creators = 16
const adders = 4

/** Minimum number of early kills for this comparison: as many as the proof has. */
const earlyMin = 15

t.setTimeout((kills * 6 + 180) * 1000)

/** Creates, sets and removes its own topics, one at a time, and records unexpected responses. */
class Creators {
  readonly wrong: string[] = []
  readonly kept: string[] = []
  readonly waits = new LongestWaits(creators)
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
      await this.#expect(client, number, 'addAndSet', { path, value: next }, `{"path":"${path}","created":true}`)
      await this.#expect(
        client,
        number,
        'set',
        { path, value: -next, constraint: { value: next } },
        `{"path":"${path}"}`,
      )
      if (next % 2 === 0) this.kept.push(path)
      else await this.#expect(client, number, 'remove', { path }, `{"removed":1}`)
    }
  }

  async #expect(client: Client, number: number, route: string, body: object, wanted: string): Promise<void> {
    const text = await this.waits.time(number, () =>
      client.post(route, body).then(
        (answer) => answer.text,
        (error: Error) => error.message,
      ),
    )
    if (text !== wanted) this.wrong.push(`${route} ${JSON.stringify(body)}: ${text}`)
  }
}

t.test('no request fails, is repeated or is lost when the writer is killed', async (t) => {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2 })
  const transfers = new Transfers({ random, target: () => server })
  await transfers.start(server.client)
  const loop = { isOver: false }
  const added = Array.from({ length: adders }, () => addUntil(server, loop))
  const creations = new Creators(server)
  const readyMs: number[] = []
  const earlyMs: number[] = []
  for (let killed = 0; killed < kills; killed++) {
    const isEarly = killed % killsToAnEarlyOne === killsToAnEarlyOne - 1
    const replaced = (): number => server.timesLogged('writer replaced')
    await until('the next writer runs', async () => replaced() === killed || undefined)
    if (!isEarly) {
      await server.spareLoaded()
      await new Promise((resolve) => setTimeout(resolve, random.below(100)))
    }
    const writer = await until('a writer runs', async () => server.writerPid())
    await creations.waits.take()
    process.kill(writer, 'SIGKILL')
    ;(isEarly ? earlyMs : readyMs).push(await creations.waits.take())
  }
  loop.isOver = true
  await Promise.all([transfers.stop(), creations.stop()])
  const sums = await Promise.all(added)
  const sum = sums.reduce((all, one) => all + one)
  const { wrong, kept, waits } = creations
  const done = waits.answered
  t.comment(`${transfers.summary}; ${done} requests of creators, ${sum} added`)
  t.comment(`longest responses, in ms: ${listOf(readyMs)}; while the spare was loading: ${listOf(earlyMs)}`)
  reportResults(t, {
    kills,
    transfers: transfers.done,
    requests: done,
    added: sum,
    wrong: wrong.length,
    slowestMsMax: Math.max(...readyMs),
    slowestEarlyMsMax: Math.max(0, ...earlyMs),
  })
  t.strictSame(wrong.slice(0, 5), [], `${done} creations, settings and removals got the expected responses`)
  t.strictSame(await transfers.faults(server.client), [], 'every sum and the counter are correct')
  t.equal(transfers.unknown + transfers.counter.unknown, 0, 'every transfer and every increment was answered')
  t.match(await server.client.post('fetch', { path: 'sum' }), { text: `"value":${sum}}` }, 'each update counts once')
  const found = await server.client.walk('?created//')
  const paths = found.flatMap(({ results }) => results.map(({ path }) => path))
  t.strictSame(paths.toSorted(), kept.toSorted(), `exactly the ${kept.length} topics that were kept are there`)
  t.equal(server.timesLogged('worker died'), 0, 'no worker exited')
  // The best of few is not significant.
  if (earlyMs.length < earlyMin) return
  const ratio = Math.min(...earlyMs) / Math.min(...readyMs)
  t.ok(ratio > laterMin, `a loaded spare responds sooner than a loading one: by a factor of ${ratio.toFixed(1)}`)
})

/** Adds 1 to one number repeatedly, with `update` of the client library. @returns the number of additions */
async function addUntil(server: Server, loop: { readonly isOver: boolean }): Promise<number> {
  const client = connect(server.url, { key: server.token })
  let added = 0
  for (; !loop.isOver; added++) {
    await client.update('sum', (item) => Number(item?.value ?? 0) + 1, { attemptsMax: Infinity })
  }
  return added
}
