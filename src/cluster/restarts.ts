/**
 * When a worker may be started in the place of one that died: at once if that one had served long, later and later while
 * workers die young. Also when to give up: after too many in a row that died before they served, since the next one will too.
 * A worker that served and was then killed, by a person or for lack of memory, never counts toward giving up.
 *
 * Pure; the caller tells the time. Deaths that come while a delay is running do not lengthen it: eight workers killed at
 * once are one misfortune.
 */

/** A worker that served this long died of something that happened, not of being started. */
export const youngMs = 10_000

/** Starts in a row that failed, all workers together, after which another makes no sense. */
export const failedStartsMax = 10

const delayMsFirst = 100
const delayMsMax = 5000

export interface Death {
  /** Now, in ms of performance.now(). */
  readonly nowMs: number
  /** From the fork to the end. */
  readonly livedMs: number
  readonly served: boolean
}

export interface RestartPolicy {
  /** Takes note of a worker that ended unasked. */
  onDeath(death: Death): void
  /** Takes note of a worker that serves. */
  onServing(): void
  /** Before this, of performance.now(), no worker should be started. */
  readonly notBeforeMs: number
  /** Whether workers have failed to start too often in a row. */
  readonly isHopeless: boolean
}

export function createRestartPolicy(): RestartPolicy {
  let failedStarts = 0
  let delays = 0
  let notBeforeMs = 0
  return {
    onDeath({ nowMs, livedMs, served }) {
      if (!served) failedStarts++
      if (served && livedMs >= youngMs) return
      if (nowMs < notBeforeMs) return
      // Nobody has died young for that long: an old misfortune does not slow down a new one.
      if (nowMs - notBeforeMs >= youngMs) delays = 0
      notBeforeMs = nowMs + Math.min(delayMsFirst * 2 ** delays++, delayMsMax)
    },
    onServing() {
      failedStarts = 0
    },
    get notBeforeMs() {
      return notBeforeMs
    },
    get isHopeless() {
      return failedStarts > failedStartsMax
    },
  }
}
