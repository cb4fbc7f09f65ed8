/**
 * Answers that their clients do not take: the rest of each is kept until it is read, all of them together within a bound.
 * Beyond it those that have waited longest are cut off, so that a client that does not read costs the others nothing.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesWaitingMax } from '../limits.js'
import { closeAfterBody, type Incoming } from './linger.js'

export interface Unread {
  /** Sends `body`, and keeps what the client does not take at once. */
  send(res: HttpResponse, body: Uint8Array): void
  /**
   * The same, and closes the connection once the client has taken all of it and no more of its body is waited for.
   *
   * @param announced the content-length where it is not the body's: an answer to HEAD names that of a body it does not have
   */
  sendAndClose(receiver: Incoming & { readonly res: HttpResponse }, body: Uint8Array, announced?: number): void
  /** Cuts off every client that has not read all since `beforeMs`, of performance.now(). */
  cutOld(beforeMs: number): void
  readonly count: () => number
}

interface Rest {
  readonly res: HttpResponse
  readonly bytes: Buffer
  /** Where they begin in the body. */
  readonly from: number
  readonly sinceMs: number
}

/** @param cut ends a connection; its abort handler runs meanwhile */
export function createUnread(cut: (res: HttpResponse) => void): Unread {
  const rests = new Set<Rest>()
  let bytesKept = 0

  /** Keeps what has not been sent of `body`, until it is released or the client has gone. */
  function keep(res: HttpResponse, body: Uint8Array): Rest {
    const from = res.getWriteOffset()
    const more = body.length - from
    for (const oldest of rests) {
      if (bytesKept + more <= answerBytesWaitingMax) break
      cut(oldest.res)
    }
    const rest: Rest = { res, bytes: Buffer.from(body.subarray(from)), from, sinceMs: performance.now() }
    rests.add(rest)
    bytesKept += more
    res.onAborted(() => release(rest))
    return rest
  }

  function release(rest: Rest): void {
    if (rests.delete(rest)) bytesKept -= rest.bytes.length
  }

  return {
    send(res, body) {
      const [taken, done] = res.tryEnd(body, body.length)
      if (taken || done) return
      const rest = keep(res, body)
      res.onWritable((offset) => {
        let taken = false
        res.cork(() => {
          const [room, done] = res.tryEnd(rest.bytes.subarray(offset - rest.from), body.length)
          if (done) release(rest)
          taken = room
        })
        return taken
      })
    },
    /**
     * An answer that is complete takes `res` away, and only `end`, which buffers without bound, then closes. So the library
     * is told of one byte more than there is: the answer is never complete, a next request on the connection ends it, and it
     * is closed here.
     */
    sendAndClose(receiver, body, total = body.length) {
      const { res } = receiver
      res.writeHeader('connection', 'close')
      // The first call writes the content-length, so it names the right one, and leaves the last byte for the next.
      res.tryEnd(body.subarray(0, Math.max(body.length - 1, 0)), total)
      const rest = keep(res, body)
      let isTaken = false
      /** Sends what is left, and closes once the kernel has all of it; tells whether it has. Not to be called within a cork. */
      function flushAndClose(): boolean {
        if (isTaken || !rests.has(rest)) return true
        const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
        ;[isTaken] = res.tryEnd(unsent, total + 1)
        if (isTaken) closeAfterBody(receiver, () => rests.has(rest) && res.close())
        return isTaken
      }
      res.onWritable(flushAndClose)
      setImmediate(flushAndClose)
    },
    cutOld(beforeMs) {
      for (const { res, sinceMs } of rests) {
        if (sinceMs > beforeMs) break
        cut(res)
      }
    },
    count: () => rests.size,
  }
}
