/**
 * A clock that is read about once in each turn of the event loop: a reading costs as much as all other accounting of a
 * request. For when something began to wait, which may have been up to a turn later; its end is read from
 * performance.now().
 */
import { beforeNextPoll } from './after-poll.js'

let readMs = Number.NaN

const endOfTurn = (): void => {
  readMs = Number.NaN
}

/** A time at most the length of a turn ago, in ms of performance.now(); never before one that was returned earlier. */
export function turnMs(): number {
  if (Number.isNaN(readMs)) {
    readMs = performance.now()
    beforeNextPoll(endOfTurn)
  }
  return readMs
}
