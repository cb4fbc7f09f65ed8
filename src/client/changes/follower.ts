/** One who follows a selector: the steps that it has got, in a queue until it takes them. Who fills it is not known here. */
import { type Matches, matchesOf } from './matches.js'
import type { Step } from './page-stream.js'

/** Steps that wait: one with more takes pages of its own, as fast as it can, until it has everything. */
const queuedMax = 64

export class Follower {
  /** Undefined if only the service can decide: then it has its own stream. */
  matches: Matches | undefined
  readonly #queue: Step[] = []
  #failure: { readonly error: unknown } | undefined
  /** Called when there is something to take, or after the end. */
  #onFilled = () => {}
  /** True while it has taken everything and waits. */
  #isWaiting = false
  /** Callbacks for when it waits, or will take nothing any more. */
  #onDrained: (() => void)[] = []

  /** @param signal ends it */
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

  /** @throws the error that it got; the signal's reason */
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

  /** @returns false if it falls behind */
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

  /** Resolves once it has taken everything, or takes nothing any more. */
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
