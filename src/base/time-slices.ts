/**
 * Cooperative scheduling for work that may be long, such as a scan that finds little, a bulk removal or a check. It runs in
 * slices of about a millisecond, whose time each turn of the event loop accounts: what requests begin as they arrive gets 20 ms
 * of a turn, and resumed slices together as much as that used, at least 1 ms. The rest is left to other requests.
 *
 * A slice ends between two steps, and the worst pattern on the longest path takes far longer than a slice for a single
 * key. Such a slice is followed by a pause of the same length, so that even then other requests get half of the time.
 *
 * Work that may be long takes a `Slice`. Only this file creates slices, so none of that work can run unaccounted.
 */
import { setAfterPoll } from './after-poll.js'
import type { Awaitable } from './awaitable.js'
import { type Cancellation, Cancelled } from './cancellation.js'

export const sliceMs = 1

/** A slice that took longer than this is followed by a pause; the margin above `sliceMs` is for a busy machine. */
const overrunMs = 5 * sliceMs

/** The longest pause, in ms: the worst steps take less, and a process that was suspended meanwhile has nothing to make up for. */
const pauseMsMax = 200

/** In a turn, before requests wait for slices: a large page that waits is copied, and many copies fill the memory. */
const requestsMsMax = 20

/** Requests that take less, in ms, count for nothing: a turn is there to handle some dozens of them. */
const shortRequestMs = 0.1

/** The right to work in the accounted time of a turn. */
export interface Slice {
  /** True if the rest is for a later slice. To be checked between two steps. */
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

/** A slice that has begun and is not over, for a caller that runs in one; undefined for any other. */
export function sliceNow(): Slice | undefined {
  return current === undefined || current.isOver() ? undefined : current
}

const waiting: ((slice: Slice) => void)[] = []
let isScheduled = false
let pausedUntilMs = 0
/** The time that requests have used since slices were resumed last, in ms. */
let requestsSinceMs = 0

/**
 * Resolves when the caller may work for one slice. It is accounted until nothing is left of what the caller does without
 * waiting for an event.
 *
 * @throws Cancelled when `cancellation` is set by then
 */
export function waitForSlice(cancellation?: Cancellation): Promise<Slice> {
  return new Promise((resolve, reject) => {
    waiting.push((slice) => (cancellation?.aborted === true ? reject(new Cancelled()) : resolve(slice)))
    schedule()
  })
}

/** Runs `work` now if the caller is in a slice that is not over, else in a later slice. @throws what `work` throws */
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

/** Resumes the waiting callers one by one, as long as there is time in this turn: else requests that never end starve them. */
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
    // The resumed caller works in microtasks. A tick that one of them queues comes after all of them.
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

/** The time of this turn that requests have used, in ms, and whether its end will be noticed. */
let requestsMs = 0
let isCounting = false

/** True if the requests of this turn leave no time for another long one, which then takes a slice. */
export function isTurnSpent(): boolean {
  return requestsMs > requestsMsMax
}

/** Handles a request as it arrives: its first slice, which is accounted. @throws what `work` throws */
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
