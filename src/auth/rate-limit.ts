/**
 * The rate of one API key in one worker: a token bucket that holds the requests of about a second. Workers share nothing
 * for it, so each enforces its share of the key's rate. Pure, except for the clock.
 */
export class RateLimit {
  /** After how many seconds a refused request may be repeated: at least 1, and by then a request is allowed again. */
  readonly retrySeconds: number
  /** The cost of a request, where each millisecond brings in `#rate`: so whole numbers stay whole. */
  readonly #cost: number
  readonly #creditMax: number
  #credit: number
  #sinceMs: number

  /**
   * @param rate requests a second, of all sharers together
   * @param sharers workers that share it evenly
   * @param nowMs a clock that never goes back
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

  /** Counts one more request if the rate allows it now. */
  tryTake(): boolean {
    const nowMs = this.nowMs()
    this.#credit = Math.min(this.#creditMax, this.#credit + (nowMs - this.#sinceMs) * this.rate)
    this.#sinceMs = nowMs
    if (this.#credit < this.#cost) return false
    this.#credit -= this.#cost
    return true
  }
}
