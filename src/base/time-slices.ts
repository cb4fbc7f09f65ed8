/**
 * Cooperative scheduling for work that may be long, such as a scan that finds little, a bulk removal or a check. It runs in
 * slices of about a millisecond, and each turn of the event loop accounts for their time. Requests that start on arrival get
 * 20 ms per turn; resumed slices together get as much time as those requests used, but at least 1 ms. Other requests get the rest.
 *
 * A slice ends between two steps, and a single step can be far longer than a slice: for example, matching the worst pattern
 * against the longest path. A pause of the same length follows such a slice, so that other requests still get half of the time.
 *
 * Work that may be long takes a `Slice`. Only this file creates slices, so none of that work can run unaccounted for.
 */
import { setAfterPoll } from './after-poll.js'
import type { Awaitable } from './awaitable.js'
import { type Cancellation, Cancelled } from './cancellation.js'

export const sliceMs = 1

/** A pause follows a slice that took longer than this. The margin above `sliceMs` is for a busy machine. */
const overrunMs = 5 * sliceMs

/** The longest pause, in ms. The worst steps take less; if the process was suspended, there is no time to make up for. */
const pauseMsMax = 200

/**
 * Time per turn, in ms, before requests have to wait for slices. With a lower limit, more requests would wait; their
 * large pages are copied, and many copies would fill the memory.
 */
const requestsMsMax = 20

/** Shorter requests, in ms, are not counted: a turn is meant to handle a few dozen of them. */
const shortRequestMs = 0.1

/** The right to work in the accounted time of a turn. */
export interface Slice {
  /** True if the rest must wait for a later slice. Check it between steps. */
  isOver(): boolean
}

class AccountedSlice implements Slice {
  readonly beganMs = performance.now()
  isClosed = false

  isOver(): boolean {
    return this.isClosed || performance.now() > this.beganMs + sliceMs
  }
}

let current: AccountedSlice | undefined

/** The slice in which the caller runs; undefined if there is no such slice or it is over. */
export function sliceNow(): Slice | undefined {
  return current === undefined || current.isOver() ? undefined : current
}

const waiting: ((slice: Slice) => void)[] = []
let isScheduled = false
let pausedUntilMs = 0
/** The time used by requests since slices were last resumed, in ms. */
let requestsSinceMs = 0

/**
 * Resolves when the caller may work for one slice. The accounting covers everything that the caller does before it waits
 * for an event.
 *
 * @throws Cancelled if `cancellation` is set by that time
 */
export function waitForSlice(cancellation?: Cancellation): Promise<Slice> {
  return new Promise((resolve, reject) => {
    waiting.push((slice) => (cancellation?.aborted === true ? reject(new Cancelled()) : resolve(slice)))
    schedule()
  })
}

/** Runs `work` now if the caller is in a slice that is not over, otherwise in a later slice. @throws the errors of `work` */
export function inSlice<T>(work: (slice: Slice) => Awaitable<T>): Awaitable<T> {
  const slice = sliceNow()
  if (slice !== undefined) return work(slice)
  return new Promise((resolve, reject) => {
    waiting.push((later) => {
      try {
        resolve(work(later))
      } catch (error) {
        reject(error)
      }
    })
    schedule()
  })
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) return
  isScheduled = true
  const pauseMs = Math.min(pausedUntilMs - performance.now(), pauseMsMax)
  if (pauseMs > 0) setTimeout(resumeWaiting, pauseMs)
  else setImmediate(resumeWaiting)
}

/** Resumes waiting callers in turn while this turn has time left. Stopping earlier would let a constant load of requests starve them. */
function resumeWaiting(): void {
  isScheduled = false
  const beganMs = performance.now()
  const shareMs = Math.max(sliceMs, requestsSinceMs)
  requestsSinceMs = 0
  const resume = (): void => {
    const slice = new AccountedSlice()
    current = slice
    setAfterPoll(true)
    waiting.shift()?.(slice)
    // The resumed caller works in microtasks; a tick queued by a microtask runs after all of them.
    queueMicrotask(() => process.nextTick(close, slice))
  }
  const close = (slice: AccountedSlice): void => {
    slice.isClosed = true
    current = undefined
    setAfterPoll(false)
    const endMs = performance.now()
    const tookMs = endMs - slice.beganMs
    if (tookMs > overrunMs) pausedUntilMs = endMs + Math.min(tookMs, pauseMsMax)
    if (waiting.length > 0 && endMs - beganMs < shareMs) resume()
    else schedule()
  }
  resume()
}

/** The time used by requests in this turn, in ms, and whether a callback at the end of the turn is scheduled. */
let requestsMs = 0
let isCounting = false

/** True if the requests of this turn have used up its time, so that another long request must wait for a slice. */
export function isTurnSpent(): boolean {
  return requestsMs > requestsMsMax
}

/** Runs `work` now, such as handling a request on arrival, as an accounted slice. @throws the errors of `work` */
export function inTurn<T>(work: (slice: Slice) => T): T {
  const slice = new AccountedSlice()
  const outer = current
  current = slice
  try {
    return work(slice)
  } finally {
    current = outer
    slice.isClosed = true
    const tookMs = performance.now() - slice.beganMs
    if (tookMs > shortRequestMs) account(tookMs)
  }
}

function account(tookMs: number): void {
  requestsMs += tookMs
  requestsSinceMs = Math.min(requestsSinceMs + tookMs, requestsMsMax)
  if (isCounting) return
  isCounting = true
  setImmediate(endOfTurn)
}

function endOfTurn(): void {
  isCounting = false
  requestsMs = 0
}
