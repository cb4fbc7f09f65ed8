/** A counter in a topic that clients increment by compare-and-set: each reads it and sets the next number. */
import type { Client } from '../service/client.js'

/** An answer that nobody expects, as its text; or what became of the increment. */
export type Increment = 'done' | 'conflict' | 'unread' | 'unknown' | { readonly refused: string }

export class Counter {
  done = 0
  conflicts = 0
  /** Increments without an answer. */
  unknown = 0
  readonly #path: string
  readonly #isCompared: boolean

  /** @param isCompared whether an increment has a constraint; the control goes without */
  constructor(path: string, isCompared = true) {
    this.#path = path
    this.#isCompared = isCompared
  }

  async create(client: Client): Promise<void> {
    await client.post('addAndSet', { path: this.#path, value: 0 })
  }

  async read(client: Client): Promise<number> {
    return (JSON.parse((await client.post('fetch', { path: this.#path })).text) as { value: number }).value
  }

  /** Reads, and sets the next number if nobody else did meanwhile. */
  async increment(client: Client): Promise<Increment> {
    let value: number
    try {
      value = await this.read(client)
    } catch {
      return 'unread'
    }
    const constraint = this.#isCompared ? { value } : undefined
    try {
      const { status, code } = await client.post('set', { path: this.#path, value: value + 1, constraint })
      if (status === 200) {
        this.done++
        return 'done'
      }
      if (code !== 'unsatisfied_constraint') return { refused: `${status} ${code}` }
      this.conflicts++
      return 'conflict'
    } catch {
      this.unknown++
      return 'unknown'
    }
  }
}
