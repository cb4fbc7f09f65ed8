/**
 * Turns for long work. A scan that finds little, a bulk removal or a check works in slices of about a millisecond; one
 * slice, of one such work, runs in each turn of the event loop, so that any number of them together leave the rest of
 * the turn to requests.
 */

/** How long a slice may keep the event loop, in ms. */
export const sliceMs = 1

const waiting: (() => void)[] = []
let scheduled = false

/** Resolves when it is the caller's turn to work for one slice. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    schedule()
  })
}

function schedule(): void {
  if (scheduled || waiting.length === 0) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    waiting.shift()?.()
    schedule()
  })
}
