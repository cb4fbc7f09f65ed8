/** How long clients, each of which sends one request after the other, wait for their answers at most. */
import { until } from '../service/server.js'

export class LongestWaits {
  /** The answers to each client. */
  readonly #answered: number[]
  #longestMs = 0

  constructor(clients: number) {
    this.#answered = Array.from({ length: clients }, () => 0)
  }

  /** The answers to all of them. */
  get answered(): number {
    return this.#answered.reduce((all, one) => all + one)
  }

  /** Times a request of this client. */
  async time<Answer>(client: number, send: () => Promise<Answer>): Promise<Answer> {
    const startMs = performance.now()
    try {
      return await send()
    } finally {
      this.#longestMs = Math.max(this.#longestMs, performance.now() - startMs)
      this.#answered[client] = this.#of(client) + 1
    }
  }

  /** The longest wait since the last call, in ms, once every client has got what it was waiting for. */
  async take(): Promise<number> {
    const before = [...this.#answered]
    // The first answer may have been on its way.
    const areAnswered = (): boolean => before.every((count, client) => this.#of(client) >= count + 2)
    await until('an answer to every client', async () => areAnswered() || undefined)
    const longestMs = this.#longestMs
    this.#longestMs = 0
    return longestMs
  }

  #of(client: number): number {
    return this.#answered[client] ?? 0
  }
}

/** Durations for a comment of a test. */
export function listOf(durationsMs: readonly number[]): string {
  return durationsMs.map((ms) => Math.round(ms)).join(' ')
}
