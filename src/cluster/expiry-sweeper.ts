/** Removes expired topics: in the writer or, on PostgreSQL, in the worker with the lease. One sweep at a time. */
import { failureMembers, type Logger } from '../ops/log.js'
import { planSelector } from '../selectors/planner.js'
import type { DueRemover } from '../store/due-removals.js'
import { StoreError } from '../store/errors.js'
import type { Availability } from '../store/store.js'

/** From the end of a sweep to the next: due topics are gone within 5 s, even after a slow sweep. */
const pauseMs = 1000

/** Unreadable topics that are named in the log, and counted, so that a damaged store fills neither log nor memory. */
const unreadableNamedMax = 1000

export class ExpirySweeper {
  #isEnabled = false
  /** Sweeps that failed in a row while the engine seemed to be there. */
  #failures = 0
  #removed = 0
  /** The topics that were named in the log as unreadable. */
  readonly #unreadable = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly store: DueRemover & Availability,
    private readonly log: Logger,
  ) {}

  get removed(): number {
    return this.#removed
  }

  /** Topics that could not be read, since the start; each counts once. */
  get unreadable(): number {
    return this.#unreadable.size
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
      const { removed, refused, unreadable } = await this.store.removeDue(planSelector)
      this.#failures = 0
      this.#removed += removed
      if (removed > 0) this.log.info({ removed }, 'topics removed by their policies')
      for (const { path, problem } of refused)
        this.log.warn(
          { topic: path, reason: `its selector ${problem}` },
          'remove clause refused; its policy is dropped',
        )
      for (const { path, message } of unreadable) this.#onUnreadable(path, message)
    } catch (error) {
      this.#onFailure(error)
    }
    if (this.#isEnabled) this.#schedule()
  }

  /** Names the topic once: each sweep meets it again. */
  #onUnreadable(path: string, reason: string): void {
    if (this.#unreadable.has(path) || this.#unreadable.size >= unreadableNamedMax) return
    this.#unreadable.add(path)
    this.log.error({ topic: path, reason }, 'topic with an unreadable REMOVAL skipped')
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
