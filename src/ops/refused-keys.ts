/** Logs rejected API keys: at most one line per second, with their number, so that bad requests cannot flood the log. */
import type { Logger } from './log.js'

const intervalMs = 1000

export class RefusedKeys {
  #count = 0

  constructor(private readonly log: Logger) {}

  add(): void {
    if (this.#count++ === 0) setTimeout(() => this.flush(), intervalMs)
  }

  /** Logs the number of keys that have not been reported yet. */
  flush(): void {
    if (this.#count > 0) this.log.warn({ count: this.#count }, 'API key rejected')
    this.#count = 0
  }
}
