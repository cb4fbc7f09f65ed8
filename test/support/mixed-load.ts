/**
 * Everything that clients and operators do, at a steady pace for as long as it takes: publishers, readers, walkers,
 * batches, removals by selector, changes of API keys, readings of the metrics, and reloads. Each answer is checked. It
 * uses the client that users have, with its one repetition.
 */
import { type Client, connect, descendants, type Operation, TopicdError } from '../../dist/client/index.js'
import type { Random } from './random.js'
import type { Server } from './server.js'

interface MixedLoadOptions {
  readonly server: Server
  readonly random: Random
  /** Between two reloads. */
  readonly reloadMs: number
}

/** One publisher's topic. */
interface Published {
  readonly path: string
  sent: number
  acknowledged: number
}

const publishers = 8
const topicsOfPublisher = 50
const publishEveryMs = 40
const readers = 16
const readEveryMs = 40
const walkEveryMs = 5000
const batchers = 2
const batchEveryMs = 500
const removeEveryMs = 1000
const keyEveryMs = 10_000
const scrapeEveryMs = 5000

/** Topics that only walkers read. */
const standing = 20_000
const batchTopics = 100

/** A token is refused everywhere by then. */
const revokedMsMax = 2000

export class MixedLoad {
  /** Answers that nobody expects. */
  readonly faults: string[] = []
  readonly counts = { writes: 0, fetches: 0, walks: 0, batches: 0, removals: 0, keys: 0, scrapes: 0, reloads: 0 }
  /** Batches that got no answer and were sent again: only they are not repeated by the client itself. */
  repeatedBatches = 0
  readonly #options: MixedLoadOptions
  readonly #client: Client
  readonly #published: readonly (readonly Published[])[]
  #writeMs: number[] = []
  #lastBatch = 0
  #lastRemoval = 0
  readonly #loops: Promise<void>[] = []
  #isStopping = false

  constructor(options: MixedLoadOptions) {
    this.#options = options
    this.#client = connect(options.server.url, { key: options.server.token, timeoutMs: 60_000 })
    this.#published = Array.from({ length: publishers }, (_, i) =>
      Array.from({ length: topicsOfPublisher }, (_, k) => ({ path: `live/${i}/${k}`, sent: 0, acknowledged: 0 })),
    )
  }

  /** Makes the topics, and begins. */
  async start(): Promise<void> {
    for (let from = 0; from < standing; from += 1000) {
      await this.#client.batch(
        Array.from({ length: 1000 }, (_, i) => ({ op: 'addAndSet', path: `standing/${from + i}`, value: from + i })),
      )
    }
    const { random, reloadMs } = this.#options
    for (const topics of this.#published) {
      for (const topic of topics) await this.#publish(topic)
      this.#every(publishEveryMs, () => this.#publish(random.pick(topics)))
    }
    for (let i = 0; i < readers; i++)
      this.#every(readEveryMs, () => this.#read(random.pick(random.pick(this.#published))))
    this.#every(walkEveryMs, () => this.#walk())
    for (let i = 0; i < batchers; i++) this.#every(batchEveryMs, () => this.#batch(i))
    this.#every(removeEveryMs, () => this.#remove())
    this.#every(keyEveryMs, () => this.#changeKeys())
    this.#every(scrapeEveryMs, () => this.#scrape())
    this.#every(reloadMs, () => this.#reload(), reloadMs)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  /** The times of the writes since the last call, in ms. */
  writeMs(): readonly number[] {
    const writeMs = this.#writeMs
    this.#writeMs = []
    return writeMs
  }

  /** Repeats an action at a pace; what it throws is a fault. */
  #every(ms: number, action: () => Promise<unknown>, firstMs = this.#options.random.below(ms)): void {
    const loop = async (): Promise<void> => {
      let dueMs = performance.now() + firstMs
      while (!this.#isStopping) {
        const waitMs = dueMs - performance.now()
        if (waitMs > 0) {
          // A stop need not wait for the next reload.
          await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, 100)))
          continue
        }
        try {
          await action()
        } catch (error) {
          this.faults.push(
            error instanceof TopicdError ? `${error.status} ${error.code}: ${error.message}` : reasonOf(error),
          )
        }
        dueMs = Math.max(dueMs + ms, performance.now())
      }
    }
    this.#loops.push(loop())
  }

  async #publish(topic: Published): Promise<void> {
    const n = ++topic.sent
    const startMs = performance.now()
    await this.#client.addAndSet(topic.path, { n, text: `n is ${n}` })
    this.#writeMs.push(performance.now() - startMs)
    topic.acknowledged = Math.max(topic.acknowledged, n)
    this.counts.writes++
  }

  async #read(topic: Published): Promise<void> {
    const from = topic.acknowledged
    const item = await this.#client.get(topic.path)
    this.counts.fetches++
    const { n = -1 } = (item?.value ?? {}) as { n?: number }
    if (n < from || n > topic.sent) this.faults.push(`${topic.path} has ${item?.text} after ${from} of ${topic.sent}`)
  }

  async #walk(): Promise<void> {
    let found = 0
    for await (const { value } of this.#client.walk(descendants('standing'), { size: 500 }))
      if (typeof value === 'number') found++
    if (found !== standing) this.faults.push(`a walk of ${standing} topics found ${found}`)
    this.counts.walks++
  }

  /** Writes a number to all topics of a group; a page of them has one number. */
  async #batch(group: number): Promise<void> {
    const n = ++this.#lastBatch
    await this.#send(
      Array.from(
        { length: batchTopics },
        (_, i) => ({ op: 'addAndSet', path: `groups/${group}/${i}`, value: n }) as const,
      ),
    )
    const { results } = await this.#client.page(descendants(`groups/${group}`), { size: batchTopics })
    const numbers = [...new Set(results.map(({ value }) => value))]
    if (results.length !== batchTopics || numbers.length !== 1 || numbers[0] !== n)
      this.faults.push(`group ${group} has ${results.length} topics with ${numbers} after batch ${n}`)
    this.counts.batches++
  }

  async #remove(): Promise<void> {
    const path = `passing/${++this.#lastRemoval}`
    await this.#send(
      Array.from({ length: batchTopics }, (_, i) => ({ op: 'addAndSet', path: `${path}/${i}`, value: i }) as const),
    )
    await this.#client.removeMatches(descendants(path))
    const { results } = await this.#client.page(descendants(path))
    if (results.length > 0) this.faults.push(`${results.length} topics of ${path} were not removed`)
    this.counts.removals++
  }

  /** Sends a batch, and once more if it got no answer: these do no harm twice. */
  async #send(operations: readonly Operation[]): Promise<void> {
    try {
      await this.#client.batch(operations)
    } catch (error) {
      if (error instanceof TopicdError) throw error
      this.repeatedBatches++
      await this.#client.batch(operations)
    }
  }

  /** Adds a key, uses it, revokes it, and uses it until it is refused. */
  async #changeKeys(): Promise<void> {
    const { server } = this.#options
    const name = `passing-${++this.counts.keys}`
    const key = await server.addKey(name)
    const client = connect(server.url, { key })
    await client.get('live/0/0')
    const { code, stderr } = await server.command('keys', 'revoke', name)
    if (code !== 0) throw new Error(`keys revoke ended with ${code}: ${stderr}`)
    for (const endMs = performance.now() + revokedMsMax; ; ) {
      try {
        await client.get('live/0/0')
      } catch (error) {
        if (error instanceof TopicdError && error.status === 401) return
        throw error
      }
      if (performance.now() > endMs)
        throw new Error(`the key ${name} is still accepted ${revokedMsMax} ms after its end`)
    }
  }

  async #scrape(): Promise<void> {
    for (const page of ['metrics', 'readyz']) {
      const { status } = await fetch(`${this.#options.server.adminUrl}/${page}`)
      // While it is reloaded it is ready, too.
      if (status !== 200) this.faults.push(`/${page} was answered ${status}`)
    }
    this.counts.scrapes++
  }

  async #reload(): Promise<void> {
    const { code, stderr } = await this.#options.server.command('reload')
    if (code !== 0) throw new Error(`reload ended with ${code}: ${stderr}`)
    this.counts.reloads++
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause === undefined ? message : `${message}: ${(cause as Error).message}`
}
