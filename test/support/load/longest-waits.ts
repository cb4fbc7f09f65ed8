/** Measures the longest time that clients, each sending one request at a time, wait for a response. */
import { until } from '../service/server.js'

export class LongestWaits {
  /** The number of responses to each client. */
  readonly #answered: number[]
  #longestMs = 0

  constructor(clients: number) {
    this.#answered = Array.from({ length: clients }, () => 0)
  }

  /** The number of responses to all clients. */
  get answered(): number {
    return this.#answered.reduce((all, one) => all + one)
  }

  /** Times a request of the client. */
  async time<Answer>(client: number, send: () => Promise<Answer>): Promise<Answer> {
    const startMs = performance.now()
    try {
      return await send()
    } finally {
      this.#longestMs = Math.max(this.#longestMs, performance.now() - startMs)
      this.#answered[client] = this.#of(client) + 1
    }
  }

  /** The longest wait since the last call, in ms; resolves when every client has received the response it is waiting for. */
  async take(): Promise<number> {
    const before = [...this.#answered]
    // The first response may already have been on its way.
    const areAnswered = (): boolean => before.every((count, client) => this.#of(client) >= count + 2)
    await until('every client has a response', async () => areAnswered() || undefined)
    const longestMs = this.#longestMs
    this.#longestMs = 0
    return longestMs
  }

  #of(client: number): number {
    return this.#answered[client] ?? 0
  }
}

/** Durations, formatted for a test's comment. */
export function listOf(durationsMs: readonly number[]): string {
  return durationsMs.map((ms) => Math.round(ms)).join(' ')
}
