/**
 * Decides when reads get a fresh snapshot. lmdb keeps a snapshot until a timer fires. A busy process could therefore serve data
 * that predates another process's acknowledged commit.
 *
 * Renewing the snapshot for every read costs more than the read itself. One snapshot per turn of the event loop is equally good: a
 * request that is handled in this turn had arrived before the turn's poll returned. The snapshot is taken after that. Three
 * exceptions follow from the way libuv polls, and each gets its own snapshot:
 * - if a poll returns 1,024 events (the size of libuv's array for `epoll_wait`), the loop polls again within the turn;
 * - a request that is handled after the poll phase (base/after-poll.ts), such as one with a chunked body, must not share its
 *   snapshot with the next poll, which runs before any immediate could end the snapshot;
 * - other reads outside the poll phase (timers, immediates) use `alone`, which also leaves no snapshot behind.
 *
 * Pipelined requests count as sent at the same time as the first one.
 */

import { isAfterPoll } from '../../../base/after-poll.js'

/** With more sockets than this, one turn may poll twice: libuv's 1,024 minus a reserve for the process's own descriptors. */
const socketsInOnePollMax = 900

export interface Snapshots {
  /** Call before a request's reads, whether it is handled on arrival or after the poll phase. */
  forRequest(): void
  /** For reads at any other time: they see every earlier commit and leave no snapshot for later reads. */
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
