/**
 * The rate of one API key in one worker: a token bucket that holds the requests of about a second. Workers share nothing
 * for it, so each enforces its share of the key's rate. Pure, except for the clock.
 */
import { turnMs } from '../turn-clock.js'

export class RateLimit {
  /** After how many seconds a refused request may be repeated: at least 1, and by then a request is allowed again. */
  readonly retrySeconds: number
  readonly #perMs: number
  readonly #requestsMax: number
  readonly #nowMs: () => number
  #requests: number
  #sinceMs: number

  /**
   * @param perSecond this worker's share of the rate, above 0, which need not be an integer
   * @param nowMs a clock that never goes back
   */
  constructor(perSecond: number, nowMs: () => number = turnMs) {
    this.retrySeconds = Math.ceil(1 / perSecond)
    this.#perMs = perSecond / 1000
    this.#requestsMax = this.#requests = Math.max(1, perSecond)
    this.#nowMs = nowMs
    this.#sinceMs = nowMs()
  }

  /** Whether one more request is within the rate now; it then counts. */
  tryTake(): boolean {
    const nowMs = this.#nowMs()
    this.#requests = Math.min(this.#requestsMax, this.#requests + (nowMs - this.#sinceMs) * this.#perMs)
    this.#sinceMs = nowMs
    if (this.#requests < 1) return false
    this.#requests--
    return true
  }
}
