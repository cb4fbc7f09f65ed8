/**
 * Answers that their clients do not take: the rest of each is kept until it is read, all of them together within a bound.
 * Beyond it those that have waited longest are cut off, so that who does not read costs the others nothing.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesWaitingMax } from '../limits.js'

export interface Unread {
  /** Keeps what `tryEnd` did not send of `body`, and sends it as there is room. */
  keep(res: HttpResponse, body: Uint8Array): void
  /** Cuts off whoever has not read since `beforeMs`, of performance.now(). */
  cutOld(beforeMs: number): void
  readonly count: () => number
}

interface Rest {
  readonly res: HttpResponse
  readonly bytes: number
  readonly sinceMs: number
}

/** @param cut ends a connection; its abort handler runs meanwhile */
export function createUnread(cut: (res: HttpResponse) => void): Unread {
  const rests = new Set<Rest>()
  let bytesKept = 0

  function keep(res: HttpResponse, body: Uint8Array): void {
    const from = res.getWriteOffset()
    const rest: Rest = { res, bytes: body.length - from, sinceMs: performance.now() }
    for (const oldest of rests) {
      if (bytesKept + rest.bytes <= answerBytesWaitingMax) break
      cut(oldest.res)
    }
    const kept = Buffer.from(body.subarray(from))
    rests.add(rest)
    bytesKept += rest.bytes
    const letGo = (): void => {
      if (rests.delete(rest)) bytesKept -= rest.bytes
    }
    res.onAborted(letGo)
    res.onWritable((offset) => {
      let taken = false
      res.cork(() => {
        const [room, done] = res.tryEnd(kept.subarray(offset - from), body.length)
        if (done) letGo()
        taken = room
      })
      return taken
    })
  }

  return {
    keep,
    cutOld(beforeMs) {
      for (const { res, sinceMs } of rests) {
        if (sinceMs > beforeMs) break
        cut(res)
      }
    },
    count: () => rests.size,
  }
}
