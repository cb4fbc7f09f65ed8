/**
 * Writers that change a tree at random, in every way that topics can change: values, creations, removals by path and by selector, other
 * types, batches, topics that remove themselves. They follow the service through restarts, and record the changes that a reader must be
 * shown. A request without a response may or may not have been executed, so nothing depends on it.
 */
import type { Random } from '../random.js'
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

/** Counters; each is incremented by one writer and never removed. */
export const counters = 12

/** Topics that each batch sets to the same number, and that no other request writes. */
export const batched = 5

/** Topics that are created and removed. */
const passing = 30

export class ChangingTree {
  /** The last acknowledged number of each counter. */
  readonly acknowledged = new Map<string, number>()
  /** Requests that returned 200. */
  writes = 0
  /** Operations in these requests. */
  changes = 0
  readonly wrong: string[] = []
  readonly #loops: Promise<void>[]
  #isStopping = false

  constructor(
    private readonly target: () => Target | undefined,
    private readonly random: Random,
  ) {
    this.#loops = [
      ...Array.from({ length: counters }, (_, i) => this.#count(`count/${i}`)),
      ...['one', 'two'].map((name) => this.#batch(name)),
      ...Array.from({ length: 4 }, () => this.#repeat(20, (client) => this.#change(client))),
    ]
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  /** Repeats a step until the end, with random pauses. */
  #repeat(pauseMs: number, step: (client: Client) => Promise<unknown>): Promise<void> {
    return follow({ target: this.target, connections: 1, isOver: () => this.#isStopping }, async (client) => {
      await step(client)
      await pause(this.random.below(pauseMs))
      return true
    })
  }

  async #post(client: Client, route: string, body: object, changes = 1): Promise<boolean> {
    try {
      const { status, text } = await client.post(route, body)
      if (status === 200) {
        this.writes++
        this.changes += changes
      } else if (status !== 503 && status !== 400) this.wrong.push(`${route} returned ${text}`)
      return status === 200
    } catch {
      // The worker was killed.
      return false
    }
  }

  #count(path: string): Promise<void> {
    let n = 0
    return this.#repeat(40, async (client) => {
      // A write without a response may have taken effect, so the next value is higher in any case.
      const value = ++n
      if (await this.#post(client, 'addAndSet', { path, value })) this.acknowledged.set(path, value)
    })
  }

  #batch(name: string): Promise<void> {
    let n = 0
    return this.#repeat(30, async (client) => {
      const value = ++n
      const operations = Array.from({ length: batched }, (_, i) => ({
        op: 'addAndSet',
        path: `batch/${name}/${i}`,
        value,
      }))
      await this.#post(client, 'batch', { operations }, batched)
    })
  }

  async #change(client: Client): Promise<void> {
    const { random } = this
    const path = `passing/${random.below(3)}/${random.below(passing)}`
    const type = random.oneIn(4) ? 'string' : 'json'
    const value = type === 'string' ? String(random.below(1000)) : random.below(1000)
    const what = random.below(10)
    if (what < 5) await this.#post(client, 'addAndSet', { path, type, value })
    else if (what < 7) await this.#post(client, 'remove', { path })
    else if (what === 7) await this.#post(client, 'remove', { selector: `?passing/${random.below(3)}/1.*//` })
    else if (what === 8) await this.#post(client, 'add', { path: `${path}/${random.below(3)}`, type })
    else {
      const properties = random.oneIn(2) ? { REMOVAL: 'when no updates for 1s' } : { DONT_RETAIN_VALUE: 'true' }
      await this.#post(client, 'addAndSet', { path: `passing/due/${random.below(9)}`, value: 1, properties })
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
