/**
 * When a worker may be started to replace one that died: at once if that one had served long, after growing delays
 * while workers die young. Also when to give up: after too many in a row died before they served, since the next one
 * will too. A worker that served and was then killed, by a person or for lack of memory, never counts toward giving up.
 *
 * Pure: the caller passes the time. Deaths during a delay do not lengthen it: eight workers killed at once are one
 * incident.
 */

/** A worker that lived this long did not die of its start. */
export const youngMs = 10_000

/** Failed starts in a row, counting all workers, that are still followed by another attempt. */
export const failedStartsMax = 10

const firstDelayMs = 100
const delayMsMax = 5000

/** The unexpected end of a worker. */
interface Death {
  /** Now, in ms of performance.now(). */
  readonly nowMs: number
  /** From the fork to the end. */
  readonly livedMs: number
  readonly served: boolean
}

export class RestartPolicy {
  #failedStarts = 0
  #delays = 0
  #notBeforeMs = 0

  onDeath({ nowMs, livedMs, served }: Death): void {
    if (!served) this.#failedStarts++
    if (served && livedMs >= youngMs) return
    if (nowMs < this.#notBeforeMs) return
    // No worker has died young for that long: an old incident does not slow down recovery from a new one.
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
