/**
 * Cooperative scheduling for long work, such as a scan that finds little, a bulk removal or a check. Per turn of the
 * event loop, resumed slices together get about 1 ms, and first slices of new requests another 1 ms, however many wait.
 * The rest of the turn is left to other requests.
 *
 * A slice ends between two keys, and the worst pattern on the longest path takes far longer than a slice for a single
 * key. Such a slice is followed by a pause of the same length, so that even then other requests get half of the time.
 */
import { type Cancellation, Cancelled } from '../cancellation.js'

/** How long a slice, and the slices of one turn together, may occupy the event loop, in ms. */
export const sliceMs = 1

/**
 * A slice that took longer than this is followed by a pause; the margin above `sliceMs` is for what a busy machine
 * adds.
 */
const overrunMs = 5 * sliceMs

const waiting: (() => void)[] = []
let scheduled = false
let pausedUntil = 0

/**
 * Resolves when the caller may work for one slice, which must begin in the microtask that resolves the promise.
 *
 * @throws Cancelled when `cancellation` is set by then
 */
export function waitForSlice(cancellation?: Cancellation): Promise<void> {
  return new Promise((resolve, reject) => {
    waiting.push(() => (cancellation?.aborted === true ? reject(new Cancelled()) : resolve()))
    schedule()
  })
}

function schedule(): void {
  if (scheduled || waiting.length === 0) return
  scheduled = true
  const pauseMs = pausedUntil - performance.now()
  if (pauseMs > 0) setTimeout(resumeWaiting, pauseMs)
  else setImmediate(resumeWaiting)
}

/** Resumes the waiting callers one after the other, as long as there is time in this turn. */
function resumeWaiting(): void {
  scheduled = false
  const startedAt = performance.now()
  const resume = (): void => {
    waiting.shift()?.()
    // The resumed caller works in a microtask that is queued before this one.
    queueMicrotask(() => {
      const tookMs = performance.now() - startedAt
      pauseAfter(tookMs)
      if (waiting.length > 0 && tookMs < sliceMs) resume()
      else schedule()
    })
  }
  resume()
}

function pauseAfter(tookMs: number): void {
  if (tookMs > overrunMs) pausedUntil = performance.now() + tookMs
}

let firstSlicesMs = 0
let counting = false

/**
 * Runs a first slice without waiting, if earlier first slices of this turn have left time for it.
 *
 * @param slice returns whether the work is finished
 * @returns whether the work is finished; false when it has not begun, or needs `waitForSlice` to continue
 */
export function tryFirstSlice(slice: () => boolean): boolean {
  const startedAt = performance.now()
  if (firstSlicesMs > sliceMs || startedAt < pausedUntil) return false
  if (!counting) {
    counting = true
    setImmediate(endOfTurn)
  }
  try {
    return slice()
  } finally {
    const tookMs = performance.now() - startedAt
    firstSlicesMs += tookMs
    pauseAfter(tookMs)
  }
}

function endOfTurn(): void {
  counting = false
  firstSlicesMs = 0
}
