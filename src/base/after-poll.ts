/**
 * Work that has to wait until the poll phase of this turn of the event loop is over, as a request does whose handling
 * must not begin inside the HTTP parser. Two things depend on whether they run in such work. A snapshot that the store
 * takes there is older than what the next poll brings, which comes before any immediate could end it. And a connection
 * must not be closed there (http/server.ts says why).
 */
let isRunning = false

/** Runs `work` in an immediate of this turn. */
export function afterPoll(work: () => void): void {
  setImmediate(() => {
    isRunning = true
    try {
      work()
    } finally {
      isRunning = false
    }
  })
}

/** Whether the caller runs, synchronously, in work that was given to `afterPoll`, or in a resumed slice. */
export function isAfterPoll(): boolean {
  return isRunning
}

/**
 * Calls `work` once all that runs now is done, and before the next poll: for what the work of a turn is gathered for. After the
 * poll, an immediate would be too late, since it belongs to the next turn.
 */
export function beforeNextPoll(work: () => void): void {
  if (isRunning) process.nextTick(work)
  else setImmediate(work)
}

/** Says whether a slice that was resumed outside the poll phase is running, with its microtasks (time-slices.ts). */
export function setAfterPoll(isIt: boolean): void {
  isRunning = isIt
}
