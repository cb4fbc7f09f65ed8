/** The unread parts of bodies, within a bound, by when their clients last read; closing.ts decides what to close. */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesWaitingMax } from '../settings/limits.js'
import type { AnswerRoom } from './answer.js'

/** Less than this, and less than half of the rest, is no progress: a few bytes a second must not hold a page. */
const progressBytesMin = 64 * 1024

/** The unread part of a body, preceded by at most as many bytes that its client has taken. */
export interface Rest {
  readonly res: HttpResponse
  bytes: Buffer
  /** Where `bytes` begin in the body. */
  from: number
  /** How much of the body had been taken at `sinceMs`. */
  takenBytes: number
  /** When it was kept, or its client had last read a part of it, of performance.now(). */
  sinceMs: number
  /** Hands over what the kernel has room for. */
  sendMore: () => boolean
  /** True once the connection has ended: `res` must not be accessed any more. */
  isGone: boolean
}

export function emptyAnswerRoom(): AnswerRoom {
  return { bytesFree: answerBytesWaitingMax }
}

export class Rests {
  /** Those whose clients have read nothing for longest come first. */
  readonly #rests = new Set<Rest>()

  /** @param giveUp closes the connection of a rest, or releases the rest, to make room for another one */
  constructor(
    private readonly room: AnswerRoom,
    private readonly giveUp: (rest: Rest) => void,
  ) {}

  get count(): number {
    return this.#rests.size
  }

  get bytesFree(): number {
    return this.room.bytesFree
  }

  get isCrowded(): boolean {
    return this.bytesFree < answerBytesWaitingMax / 2
  }

  /** All of them; those whose clients have read nothing for longest come first. */
  values(): Iterable<Rest> {
    return this.#rests
  }

  /** True while its client is there and has not taken all of it. */
  has(rest: Rest): boolean {
    return this.#rests.has(rest)
  }

  /** Keeps the unsent part. Makes room by closing connections, which only an answer that cannot be refused needs. */
  keep(res: HttpResponse, body: Uint8Array): Rest {
    const from = res.getWriteOffset()
    const more = body.length - from
    for (const oldest of this.#rests) {
      if (more <= this.bytesFree) break
      if (oldest.bytes.length > 0) this.giveUp(oldest)
    }
    const bytes = Buffer.from(body.subarray(from))
    const sinceMs = performance.now()
    const rest: Rest = { res, bytes, from, takenBytes: from, sinceMs, sendMore: () => true, isGone: false }
    this.#rests.add(rest)
    this.room.bytesFree -= more
    res.onAborted(() => {
      rest.isGone = true
      this.release(rest)
    })
    return rest
  }

  /**
   * Hands over what the kernel has room for; returns whether that was all of the body. With it, the answer is complete
   * and its rest released, unless `total` is more than the body has.
   *
   * What was accepted in a cork, up to 16 KiB, may still be in the library. It accepts a further byte only when that is
   * not so, and answers that every empty piece is accepted, or completes the answer with it, depending on its version.
   * So the last byte goes alone. Of that byte alone it is not known whether the kernel had room for it.
   */
  sendPieces(rest: Rest, total: number): boolean {
    const { res } = rest
    while (this.#rests.has(rest)) {
      const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
      const piece = unsent.length > 1 ? unsent.subarray(0, -1) : unsent
      let isAccepted = false
      // Outside of a cork, the library prints a warning for each call.
      res.cork(() => {
        const [accepted, done] = res.tryEnd(piece, total)
        if (done) this.release(rest)
        else this.#advance(rest)
        isAccepted = accepted
      })
      if (!isAccepted) return false
      if (piece === unsent) return true
    }
    return false
  }

  release(rest: Rest): void {
    if (this.#rests.delete(rest)) this.room.bytesFree += rest.bytes.length
  }

  /**
   * A client that has taken enough is the last to be closed. Its bytes are freed once they are half of what is kept:
   * all these copies together are no larger than the body.
   */
  #advance(rest: Rest): void {
    const end = rest.from + rest.bytes.length
    const offset = rest.res.getWriteOffset()
    if (offset - rest.takenBytes < Math.min(progressBytesMin, (end - rest.takenBytes) / 2)) return
    rest.takenBytes = offset
    rest.sinceMs = performance.now()
    this.#rests.delete(rest)
    this.#rests.add(rest)
    const freed = offset - rest.from
    if (freed < rest.bytes.length / 2) return
    rest.bytes = Buffer.from(rest.bytes.subarray(freed))
    rest.from = offset
    this.room.bytesFree += freed
  }
}

export function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
