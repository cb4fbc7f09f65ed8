/**
 * When reads get a fresh snapshot. lmdb keeps one until a timer fires, so a busy process would otherwise answer from
 * before another process's commit, although that commit was acknowledged.
 *
 * Renewing it for every read costs more than the read. One snapshot per turn of the event loop is as good: a request
 * that is handled in this turn had arrived before the turn's poll returned, and the snapshot is taken after that. Three
 * exceptions follow from how libuv polls, and each gets a snapshot of its own:
 * - with 1,024 events at once (`epoll_wait`'s array in libuv) the loop polls again within the turn;
 * - a request that is handled after the poll phase (base/after-poll.ts), such as one with a chunked body, must not share its
 *   snapshot with the next poll, which comes before any immediate could end it;
 * - other reads outside the poll phase (timers, immediates) use `alone`, which leaves no snapshot behind either.
 *
 * Requests that a client pipelines count as sent with the first of them.
 */

import { isAfterPoll } from '../../../base/after-poll.js'

/** With more sockets, one turn may poll twice: libuv's 1,024 minus some for the process's own descriptors. */
const socketsInOnePollMax = 900

export interface Snapshots {
  /** Call before the reads of a request that is handled as it arrives, or after the poll that brought its end. */
  forRequest(): void
  /** For reads at any other time: they see every earlier commit, and leave no snapshot to later reads. */
  alone<T>(read: () => T): T
}

/** @param freshen ends the current snapshot @param socketCount the number of sockets that this process polls */
export function createSnapshots(freshen: () => void, socketCount: () => number): Snapshots {
  let isShared = false
  const endOfTurn = (): void => {
    isShared = false
  }
  return {
    forRequest() {
      if (isShared && socketCount() <= socketsInOnePollMax) return
      freshen()
      if (isShared || isAfterPoll()) return
      isShared = true
      setImmediate(endOfTurn)
    },
    alone(read) {
      freshen()
      try {
        return read()
      } finally {
        freshen()
      }
    },
  }
}
