/**
 * The typical load of clients, at a steady pace for the length of the test: publishers, readers, walkers, batches, removals of added
 * topics, and reloads. Each response is checked. The load uses topicd's own client, which repeats a request once.
 */
import { type Client, connect, descendants, type Operation, TopicdError } from '../../../dist/client/index.js'
import type { Random } from '../random.js'
import type { Server } from '../service/server.js'

interface MixedLoadOptions {
  readonly server: Server
  readonly random: Random
  /** Interval between reloads; the first takes place after half of it. */
  readonly reloadMs: number
  /** Called before each reload, when all workers have the same age. */
  readonly beforeReload: () => Promise<void>
}

/** A publisher's topic. */
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
const removeEveryMs = 1000

/** Topics read only by walkers. */
const standing = 20_000
const batchTopics = 100

export class MixedLoad {
  /** Unexpected responses. */
  readonly faults: string[] = []
  readonly counts = { writes: 0, fetches: 0, walks: 0, removals: 0, reloads: 0 }
  /** Batches that got no response and were sent again here, because the client does not repeat batches. */
  repeatedBatches = 0
  readonly #options: MixedLoadOptions
  readonly #client: Client
  readonly #published: readonly (readonly Published[])[]
  #writeMs: number[] = []
  #lastRemoval = 0
  readonly #loops: Promise<void>[] = []
  #isStopping = false
  #isReloading = true

  constructor(options: MixedLoadOptions) {
    this.#options = options
    this.#client = connect(options.server.url, { key: options.server.token, timeoutMs: 60_000 })
    this.#published = Array.from({ length: publishers }, (_, i) =>
      Array.from({ length: topicsOfPublisher }, (_, k) => ({ path: `live/${i}/${k}`, sent: 0, acknowledged: 0 })),
    )
  }

  /** Creates the topics and starts the load. */
  async start(): Promise<void> {
    for (let from = 0; from < standing; from += 1000) {
      await this.#client.batch(
        Array.from({ length: 1000 }, (_, i) => ({ op: 'addAndSet', path: `standing/${from + i}`, value: from + i })),
      )
    }
    const { random, reloadMs } = this.#options
    for (const topics of this.#published) {
      for (const topic of topics) await this.#publish(topic)
      this.#every(publishEveryMs, (dueMs) => this.#publish(random.pick(topics), dueMs))
    }
    for (let i = 0; i < readers; i++)
      this.#every(readEveryMs, () => this.#read(random.pick(random.pick(this.#published))))
    this.#every(walkEveryMs, () => this.#walk())
    this.#every(removeEveryMs, () => this.#remove())
    this.#every(reloadMs, () => this.#reload(), reloadMs / 2)
  }

  /** Stops replacing workers, so that growth in a worker becomes visible. */
  endReloads(): void {
    this.#isReloading = false
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  /** The durations of the writes since the last call, each measured from its due time, in ms. */
  writeMs(): readonly number[] {
    const writeMs = this.#writeMs
    this.#writeMs = []
    return writeMs
  }

  /** Repeats an action at a fixed pace and passes it its due time; an exception counts as a fault. */
  #every(ms: number, action: (dueMs: number) => Promise<unknown>, firstMs = this.#options.random.below(ms)): void {
    const loop = async (): Promise<void> => {
      let dueMs = performance.now() + firstMs
      while (!this.#isStopping) {
        const waitMs = dueMs - performance.now()
        if (waitMs > 0) {
          // Wait briefly, so that `stop` does not have to wait for the next reload.
          await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, 100)))
          continue
        }
        try {
          await action(dueMs)
        } catch (error) {
          const { message, cause } = error as Error
          this.faults.push(`${message}: ${error instanceof TopicdError ? error.code : cause}`)
        }
        dueMs = Math.max(dueMs + ms, performance.now())
      }
    }
    this.#loops.push(loop())
  }

  async #publish(topic: Published, dueMs = performance.now()): Promise<void> {
    const n = ++topic.sent
    await this.#client.addAndSet(topic.path, { n, text: `n is ${n}` })
    // Writes that became due in the meantime would also have waited.
    for (let waitedMs = performance.now() - dueMs; waitedMs > 0; waitedMs -= publishEveryMs)
      this.#writeMs.push(waitedMs)
    topic.acknowledged = Math.max(topic.acknowledged, n)
    this.counts.writes++
  }

  async #read(topic: Published): Promise<void> {
    const from = topic.acknowledged
    const item = await this.#client.get(topic.path)
    this.counts.fetches++
    const { n = -1, text } = (item?.value ?? {}) as { n?: number; text?: string }
    if (n < from || n > topic.sent || text !== `n is ${n}`)
      this.faults.push(`${topic.path} has ${item?.text} after ${from} of ${topic.sent}`)
  }

  async #walk(): Promise<void> {
    const found = new Set<string>()
    for await (const { path, value } of this.#client.walk(descendants('standing'), { size: 500 })) {
      if (path !== `standing/${value}` || found.has(path)) this.faults.push(`a walk found ${path} with ${value}`)
      found.add(path)
    }
    if (found.size !== standing) this.faults.push(`a walk of ${standing} topics found ${found.size}`)
    this.counts.walks++
  }

  /** Adds topics in a batch, and removes them by a selector. */
  async #remove(): Promise<void> {
    const path = `passing/${++this.#lastRemoval}`
    const operations = Array.from({ length: batchTopics }, (_, i) => ({ op: 'add', path: `${path}/${i}` }) as const)
    await this.#send(operations)
    const { removed } = await this.#client.removeMatches(descendants(path))
    if (removed > batchTopics) this.faults.push(`${removed} topics of ${path} were removed`)
    const { results } = await this.#client.page(descendants(path))
    if (results.length > 0) this.faults.push(`${results.length} topics of ${path} were not removed`)
    this.counts.removals++
  }

  /** Sends a batch, and repeats it if there was no response: these operations are idempotent. */
  async #send(operations: readonly Operation[]): Promise<void> {
    try {
      await this.#client.batch(operations)
    } catch (error) {
      if (error instanceof TopicdError) throw error
      this.repeatedBatches++
      await this.#client.batch(operations)
    }
  }

  async #reload(): Promise<void> {
    if (!this.#isReloading) return
    await this.#options.beforeReload()
    const { code, stderr } = await this.#options.server.command('reload')
    if (code !== 0) throw new Error(stderr)
    this.counts.reloads++
  }
}
