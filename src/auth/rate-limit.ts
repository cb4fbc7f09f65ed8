/**
 * The rate limit of one API key in one worker: a token bucket that holds about one second of requests. Workers share no state
 * for it, so each enforces its share of the key's rate. Pure, except for the clock.
 */
export class RateLimit {
  /** The wait in seconds before a rejected request is allowed again; at least 1. */
  readonly retrySeconds: number
  /** The cost of a request, in units that accrue at `rate` per millisecond, so that whole numbers stay whole. */
  readonly #cost: number
  readonly #creditMax: number
  #credit: number
  #sinceMs: number

  /**
   * @param rate requests per second for all sharers together
   * @param sharers workers that share the rate evenly
   * @param nowMs a clock that never runs backwards
   */
  constructor(
    private readonly rate: number,
    sharers: number,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.retrySeconds = Math.ceil(sharers / rate)
    this.#cost = 1000 * sharers
    this.#creditMax = this.#credit = Math.max(this.#cost, 1000 * rate)
    this.#sinceMs = nowMs()
  }

  /** Takes the credit for one request; returns false if the rate does not allow it now. */
  tryTake(): boolean {
    const nowMs = this.nowMs()
    this.#credit = Math.min(this.#creditMax, this.#credit + (nowMs - this.#sinceMs) * this.rate)
    this.#sinceMs = nowMs
    if (this.#credit < this.#cost) return false
    this.#credit -= this.#cost
    return true
  }
}
