/**
 * Work that has to wait until the poll phase of this turn of the event loop is over, as a request does whose handling
 * must not begin inside the HTTP parser. Two things depend on whether they run in such work. A snapshot that the store
 * takes there is older than what the next poll brings, which comes before any immediate could end it. And a connection
 * must not be closed there (http/server.ts says why).
 */
let isRunning = false

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

/** True while the caller runs, synchronously, in work that was given to `afterPoll` or in a resumed slice. */
export function isAfterPoll(): boolean {
  return isRunning
}

/** Runs `work` before the next poll, after all that runs now. After the poll an immediate would be a turn too late. */
export function beforeNextPoll(work: () => void): void {
  if (isRunning) process.nextTick(work)
  else setImmediate(work)
}

/** Set while a slice that was resumed outside the poll phase is running, with its microtasks (time-slices.ts). */
export function setAfterPoll(isIt: boolean): void {
  isRunning = isIt
}
