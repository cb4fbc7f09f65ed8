/** The time before the engine first responds: statements are rejected, and the engine is examined repeatedly until it responds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../errors.js'

/** Interval between attempts, in ms. */
export const retryMs = 200

export class FirstContact {
  #isClosed = false

  /**
   * @param refusal the reason why statements are rejected, usually because the engine cannot be reached; undefined once statements
   *   are executed
   * @param examine resolves with a StoreError while the engine is unreachable, with any other error if it is unusable, and with
   *   undefined if it is usable
   * @param onUnusable called once if the engine proves unusable; statements then stay rejected
   */
  constructor(
    public refusal: StoreError | undefined,
    private readonly examine: () => Promise<Error | undefined>,
    private readonly onUnusable: ((reason: Error) => void) | undefined,
  ) {
    void this.#examineUntilReached()
  }

  /** Wraps a function so that it rejects as long as statements are rejected. */
  gated<A extends unknown[], T>(run: (...args: A) => Promise<T>): (...args: A) => Promise<T> {
    return (...args) => (this.refusal === undefined ? run(...args) : Promise.reject(this.refusal))
  }

  close(): void {
    this.#isClosed = true
  }

  async #examineUntilReached(): Promise<void> {
    while (this.refusal !== undefined && !this.#isClosed) {
      await sleep(retryMs)
      const problem = this.#isClosed ? undefined : await this.examine()
      if (problem === undefined || problem instanceof StoreError) this.refusal = problem
      else return this.onUnusable?.(problem)
    }
  }
}
