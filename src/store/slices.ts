/**
 * Turns for long work. A scan that finds little, a bulk removal or a check works in slices of about a millisecond. In each
 * turn of the event loop the slices that run take about a millisecond together, whoever's they are, and so do the first
 * slices of what has just arrived; so any number of them leave the rest of the turn to requests.
 */

/** How long a slice, and the slices of one turn together, may keep the event loop, in ms. */
export const sliceMs = 1

const waiting: (() => void)[] = []
let scheduled = false

/** Resolves when it is the caller's turn to work for one slice, which has to begin as the promise resolves. */
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
    resumeUntil(performance.now() + sliceMs)
  })
}

/** Resumes those who wait, one after the other, for as long as there is time in this turn. */
function resumeUntil(deadline: number): void {
  waiting.shift()?.()
  // The one that was resumed works in a microtask that is queued before this one.
  queueMicrotask(() => {
    if (waiting.length > 0 && performance.now() < deadline) resumeUntil(deadline)
    else schedule()
  })
}

let firstSlicesMs = 0
let counting = false

/**
 * Works for a first slice without waiting, where those of this turn have left time for one.
 *
 * @param slice answers whether the work is finished
 * @returns whether the work is finished; false when it has not begun, or needs `nextSlice`
 */
export function firstSlice(slice: () => boolean): boolean {
  if (firstSlicesMs > sliceMs) return false
  if (!counting) {
    counting = true
    setImmediate(endOfTurn)
  }
  const startedAt = performance.now()
  try {
    return slice()
  } finally {
    firstSlicesMs += performance.now() - startedAt
  }
}

function endOfTurn(): void {
  counting = false
  firstSlicesMs = 0
}
