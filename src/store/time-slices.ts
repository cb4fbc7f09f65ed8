/**
 * Turns for long work. A scan that finds little, a bulk removal or a check works in slices of about a millisecond. In each
 * turn of the event loop the slices that run take about a millisecond together, whoever's they are, and so do the first
 * slices of what has just arrived; so any number of them leave the rest of the turn to requests.
 *
 * A slice ends between two keys, and the worst pattern on the longest path takes far longer than a slice for one key. After
 * such a slice comes a rest as long, so that even then requests have half of the time.
 */

/** How long a slice, and the slices of one turn together, may keep the event loop, in ms. */
export const sliceMs = 1

/** A slice that took longer than this is followed by a rest: enough above `sliceMs` for what a busy machine adds. */
const overrunMs = 5 * sliceMs

const waiting: (() => void)[] = []
let scheduled = false
let restingUntil = 0

/** Resolves when it is the caller's turn to work for one slice, which has to begin as the promise resolves. */
export function waitForSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    schedule()
  })
}

function schedule(): void {
  if (scheduled || waiting.length === 0) return
  scheduled = true
  const restMs = restingUntil - performance.now()
  if (restMs > 0) setTimeout(resumeSome, restMs)
  else setImmediate(resumeSome)
}

/** Resumes those who wait, one after the other, for as long as there is time in this turn. */
function resumeSome(): void {
  scheduled = false
  const startedAt = performance.now()
  const resume = (): void => {
    waiting.shift()?.()
    // The one that was resumed works in a microtask that is queued before this one.
    queueMicrotask(() => {
      const tookMs = performance.now() - startedAt
      restAfter(tookMs)
      if (waiting.length > 0 && tookMs < sliceMs) resume()
      else schedule()
    })
  }
  resume()
}

function restAfter(tookMs: number): void {
  if (tookMs > overrunMs) restingUntil = performance.now() + tookMs
}

let firstSlicesMs = 0
let counting = false

/**
 * Works for a first slice without waiting, where those of this turn have left time for one.
 *
 * @param slice answers whether the work is finished
 * @returns whether the work is finished; false when it has not begun, or needs `nextSlice`
 */
export function tryFirstSlice(slice: () => boolean): boolean {
  const startedAt = performance.now()
  if (firstSlicesMs > sliceMs || startedAt < restingUntil) return false
  if (!counting) {
    counting = true
    setImmediate(endOfTurn)
  }
  try {
    return slice()
  } finally {
    const tookMs = performance.now() - startedAt
    firstSlicesMs += tookMs
    restAfter(tookMs)
  }
}

function endOfTurn(): void {
  counting = false
  firstSlicesMs = 0
}
