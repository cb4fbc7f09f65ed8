/**
 * Removes expired topics, in the one worker that the primary has elected for it: one sweep after another, with a pause
 * between two. A worker that is not elected, or that drains, does not sweep.
 */
import type { Logger } from '../ops/log.js'
import type { TopicStore } from '../store/store.js'

/** From the end of a sweep to the next: due topics are gone within 5 s, even after a slow sweep. */
const pauseMs = 1000

export class ExpirySweeper {
  readonly #store: TopicStore
  readonly #log: Logger
  #isEnabled = false
  /** Whether the last sweep failed, and that has been logged. */
  #hasFailed = false
  #removed = 0
  #timer: NodeJS.Timeout | undefined

  constructor(store: TopicStore, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /** Topics removed since the start. */
  get removed(): number {
    return this.#removed
  }

  /** Starts or stops sweeping; a sweep in progress is finished. */
  enable(enabled: boolean): void {
    this.#isEnabled = enabled
    if (enabled) this.#schedule()
    else clearTimeout(this.#timer)
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#sweep(), pauseMs)
  }

  async #sweep(): Promise<void> {
    try {
      const { removed } = await this.#store.removeDue()
      this.#hasFailed = false
      this.#removed += removed
      if (removed > 0) this.#log.info({ removed }, 'topics removed by their policies')
    } catch (error) {
      this.#onFailure(error)
    }
    if (this.#isEnabled) this.#schedule()
  }

  /** Logs the first of several failures in a row. The primary logs that an engine is away; a drain needs no line. */
  #onFailure(error: unknown): void {
    if (this.#hasFailed || !this.#isEnabled || this.#store.notReady?.() !== undefined) return
    this.#hasFailed = true
    this.#log.error({ err: error }, 'due removals failed')
  }
}
