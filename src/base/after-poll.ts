/**
 * Work that must wait until this turn's poll phase is over, such as a request that must not be handled inside the HTTP
 * parser. Two kinds of code check whether they run in such work. The store must not share a snapshot taken there with the
 * requests of the next poll: that poll precedes any immediate that could end the snapshot. And connections must not be
 * closed there (see http/server.ts).
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

/** True if the caller runs synchronously in work passed to `afterPoll`, or in a resumed slice. */
export function isAfterPoll(): boolean {
  return isRunning
}

/** Runs `work` after the current code and before the next poll. In `afterPoll` work, an immediate would run a turn too late. */
export function beforeNextPoll(work: () => void): void {
  if (isRunning) process.nextTick(work)
  else setImmediate(work)
}

/** Sets whether the caller is in a slice resumed outside the poll phase, including its microtasks (time-slices.ts). */
export function setAfterPoll(isIt: boolean): void {
  isRunning = isIt
}
