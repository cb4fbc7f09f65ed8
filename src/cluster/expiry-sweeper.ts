/** Removes expired topics: in the writer or, on PostgreSQL, in the worker with the lease. Sweeps run one at a time. */
import { failureMembers, type Logger } from '../ops/log.js'
import { planSelector } from '../selectors/planner.js'
import type { DueRemover } from '../store/due-removals.js'
import { StoreError } from '../store/errors.js'
import type { Availability } from '../store/store.js'

/** The pause between sweeps: due topics are removed within 5 s, even after a slow sweep. */
const pauseMs = 1000

/** Maximum unreadable topics that are logged and counted, so that a damaged store fills neither the log nor the memory. */
const unreadableNamedMax = 1000

export class ExpirySweeper {
  #isEnabled = false
  /** Consecutive failed sweeps while the engine seemed to be available. */
  #failures = 0
  #removed = 0
  /** The topics that were logged as unreadable. */
  readonly #unreadable = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly store: DueRemover & Availability,
    private readonly log: Logger,
  ) {}

  get removed(): number {
    return this.#removed
  }

  /** The number of unreadable topics; each counts once per process. */
  get unreadable(): number {
    return this.#unreadable.size
  }

  /** Starts or stops sweeping; a sweep in progress continues to its end. */
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
          'remove clause rejected; its policy is dropped',
        )
      for (const { path, message } of unreadable) this.#onUnreadable(path, message)
    } catch (error) {
      this.#onFailure(error)
    }
    if (this.#isEnabled) this.#schedule()
  }

  /** Logs the topic only once, because every sweep finds it again. */
  #onUnreadable(path: string, reason: string): void {
    if (this.#unreadable.has(path) || this.#unreadable.size >= unreadableNamedMax) return
    this.#unreadable.add(path)
    this.log.error({ topic: path, reason }, 'topic with an unreadable REMOVAL skipped')
  }

  /**
   * Logs one of several consecutive failures: the first, or for a store error the second, because a failover breaks the
   * sweep in progress. The primary logs that an engine is unavailable; a failure during a drain needs no line.
   */
  #onFailure(error: unknown): void {
    if (!this.#isEnabled || this.store.notReady?.() !== undefined) return
    if (++this.#failures !== (error instanceof StoreError ? 2 : 1)) return
    this.log.error(failureMembers(error), 'due removals failed')
  }
}
