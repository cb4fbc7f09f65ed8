/**
 * The time before the engine has responded for the first time: every statement is rejected, and the engine is examined
 * again and again until it can be reached. Not what makes an engine usable; open.ts says that.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../../errors.js'

/** Between two attempts, in ms. */
export const retryMs = 200

export class FirstContact {
  #refusal: StoreError | undefined
  #isClosed = false

  /**
   * @param refusal why the engine could not be examined so far; undefined when it was found to be usable
   * @param examine resolves with a StoreError while the engine cannot be reached, with any other error if it is unusable,
   *   and with undefined if it is usable
   * @param onUnusable is called once if it proves unusable; statements then stay rejected
   */
  constructor(
    refusal: StoreError | undefined,
    examine: () => Promise<Error | undefined>,
    onUnusable: ((reason: Error) => void) | undefined,
  ) {
    this.#refusal = refusal
    if (refusal !== undefined) void this.#examineUntilReached(examine, onUnusable)
  }

  /** Why statements are rejected; undefined once they are executed. */
  get refusal(): StoreError | undefined {
    return this.#refusal
  }

  /** The refusal as a rejected promise; undefined once statements are executed. */
  rejection(): Promise<never> | undefined {
    return this.#refusal === undefined ? undefined : Promise.reject(this.#refusal)
  }

  /** Ends the attempts. */
  close(): void {
    this.#isClosed = true
  }

  async #examineUntilReached(
    examine: () => Promise<Error | undefined>,
    onUnusable: ((reason: Error) => void) | undefined,
  ): Promise<void> {
    while (this.#refusal !== undefined && !this.#isClosed) {
      await sleep(retryMs)
      const problem = this.#isClosed ? undefined : await examine()
      if (problem === undefined || problem instanceof StoreError) this.#refusal = problem
      else return onUnusable?.(problem)
    }
  }
}
