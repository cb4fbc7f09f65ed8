/**
 * Removes expired topics, in the writer or, on PostgreSQL, in every worker, of which one has the lease: one sweep after
 * another, with a pause between two.
 */
import { failureMembers, type Logger } from '../ops/log.js'
import { planSelector } from '../selectors/planner.js'
import type { DueRemover } from '../store/due-removals.js'
import { StoreError } from '../store/errors.js'
import type { Availability } from '../store/lifecycle.js'

/** From the end of a sweep to the next: due topics are gone within 5 s, even after a slow sweep. */
const pauseMs = 1000

export class ExpirySweeper {
  #isEnabled = false
  /** Sweeps that failed in a row while the engine seemed to be there. */
  #failures = 0
  #removed = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly store: DueRemover & Availability,
    private readonly log: Logger,
  ) {}

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
      const { removed, refused } = await this.store.removeDue(planSelector)
      this.#failures = 0
      this.#removed += removed
      if (removed > 0) this.log.info({ removed }, 'topics removed by their policies')
      for (const { path, problem } of refused)
        this.log.warn(
          { topic: path, reason: `its selector ${problem}` },
          'remove clause refused; its policy is dropped',
        )
    } catch (error) {
      this.#onFailure(error)
    }
    if (this.#isEnabled) this.#schedule()
  }

  /**
   * Logs one of several failures in a row: the first, or of a store's the second, since a fail-over breaks the sweep in
   * progress. The primary logs that an engine is away; a drain needs no line.
   */
  #onFailure(error: unknown): void {
    if (!this.#isEnabled || this.store.notReady?.() !== undefined) return
    if (++this.#failures !== (error instanceof StoreError ? 2 : 1)) return
    this.log.error(failureMembers(error), 'due removals failed')
  }
}
