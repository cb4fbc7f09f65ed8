/** One consumer of a selector's changes: a queue of the steps that it has not taken yet. subscription.ts fills the queue. */
import { type Matches, matchesOf } from './matches.js'
import type { Step } from './page-stream.js'

/** Maximum number of queued steps. A follower that reaches it leaves the shared stream and polls at its own pace until it catches up. */
const queuedMax = 64

export class Follower {
  /** Undefined if only the service can match the selector; then the follower has its own stream. */
  matches: Matches | undefined
  readonly #queue: Step[] = []
  #failure: { readonly error: unknown } | undefined
  /** Called when there is a step to take, and at the end. */
  #onFilled = () => {}
  /** True while the queue is empty and the follower waits for a step. */
  #isWaiting = false
  /** Called once the follower waits, or has ended. */
  #onDrained: (() => void)[] = []

  /** @param signal ends the follower */
  constructor(
    readonly selector: string,
    readonly signal: AbortSignal,
  ) {
    this.matches = matchesOf(selector)
    signal.addEventListener('abort', () => {
      this.#onFilled()
      this.#drain()
    })
  }

  /** @throws the error passed to `fail`; the signal's reason */
  async take(): Promise<Step> {
    if (this.#queue.length === 0 && this.#failure === undefined && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#onFilled = resolve
        this.#isWaiting = true
        this.#drain()
      })
    }
    this.signal.throwIfAborted()
    const step = this.#queue.shift()
    if (step === undefined) throw this.#failure?.error
    return step
  }

  /** @returns false if the follower has fallen behind */
  put(step: Step): boolean {
    this.#queue.push(step)
    this.#isWaiting = false
    this.#onFilled()
    return this.#queue.length < queuedMax
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#onFilled()
  }

  /** Resolves once the follower has taken every step, or has ended. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isWaiting || this.signal.aborted) resolve()
      else this.#onDrained.push(resolve)
    })
  }

  #drain(): void {
    for (const onDrained of this.#onDrained.splice(0)) onDrained()
  }
}
