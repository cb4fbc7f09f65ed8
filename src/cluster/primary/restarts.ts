/**
 * Decides when to replace a dead worker: immediately if it had served for a long time, or after growing delays while workers die
 * young. Also decides when to stop trying: too many workers in a row died before they served, so the next one would die as well. A
 * worker that served and was then killed, by a person or the OOM killer, never counts towards this limit.
 *
 * Pure: the caller passes the time. Deaths during a delay do not lengthen it: eight workers killed together are one
 * incident.
 */

/** A worker that lived this long did not die because of its start. */
export const youngMs = 10_000

/** Maximum consecutive failed starts, across all workers, that are still followed by another attempt. */
export const failedStartsMax = 10

const firstDelayMs = 100
const delayMsMax = 5000

/** The unexpected exit of a worker. */
interface Death {
  /** Now, in ms of performance.now(). */
  readonly nowMs: number
  /** The time from the fork to the exit. */
  readonly livedMs: number
  readonly served: boolean
}

export class RestartPolicy {
  #failedStarts = 0
  #delays = 0
  #notBeforeMs = 0

  onDeath({ nowMs, livedMs, served }: Death): void {
    this.#failedStarts = served ? 0 : this.#failedStarts + 1
    if (served && livedMs >= youngMs) return
    if (nowMs < this.#notBeforeMs) return
    // No worker has died young in that time: an old incident must not slow down the recovery from a new one.
    if (nowMs - this.#notBeforeMs >= youngMs) this.#delays = 0
    this.#notBeforeMs = nowMs + Math.min(firstDelayMs * 2 ** this.#delays++, delayMsMax)
  }

  onServing(): void {
    this.#failedStarts = 0
  }

  /** The earliest time for the next start, in ms of performance.now(). */
  get notBeforeMs(): number {
    return this.#notBeforeMs
  }

  get isHopeless(): boolean {
    return this.#failedStarts > failedStartsMax
  }
}
