/** Keeps the unread parts of bodies within a bound, ordered by their clients' last read; closing.ts closes connections. */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesWaitingMax } from '../settings/limits.js'
import type { AnswerRoom } from './answer.js'

/** Less than this, and less than half of the rest, does not count as progress: a few bytes per second must not keep a page alive. */
const progressBytesMin = 64 * 1024

/** The unread part of a body. `bytes` may start with bytes that the client has already taken, at most half of them. */
export interface Rest {
  readonly res: HttpResponse
  bytes: Buffer
  /** The position of `bytes` in the body. */
  from: number
  /** The bytes of the body that the client had taken at `sinceMs`. */
  takenBytes: number
  /** The time at which the rest was kept or the client last made progress, in ms of performance.now(). */
  sinceMs: number
  /** Hands over as many bytes as the kernel has room for. */
  sendMore: () => boolean
  /** True after the connection has closed; `res` must then not be accessed. */
  isGone: boolean
}

export function emptyAnswerRoom(): AnswerRoom {
  return { bytesFree: answerBytesWaitingMax }
}

export class Rests {
  /** Sorted by `sinceMs`. */
  readonly #rests = new Set<Rest>()

  /** @param giveUp releases a rest and closes its connection, now or soon, to make room for another */
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

  /** All rests, sorted by `sinceMs`: the client that has gone longest without reading is first. */
  values(): Iterable<Rest> {
    return this.#rests
  }

  /** True until the rest is released, at the latest when its client disconnects. */
  has(rest: Rest): boolean {
    return this.#rests.has(rest)
  }

  /** Keeps the unsent part. Closes connections if there is no room, which happens only for a response that cannot be rejected. */
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
   * Hands over as many bytes as the kernel has room for; returns whether the whole body was sent. In that case the
   * response is complete and its rest released, unless `total` is more than the body has.
   *
   * Up to 16 KiB accepted in a cork may still be in the library, which accepts another byte only after sending them. An
   * empty piece tests nothing: depending on the version, the library always accepts it or completes the response with it.
   * So the last byte is sent separately, and only for that byte is it unknown whether the kernel had room.
   */
  sendPieces(rest: Rest, total: number): boolean {
    const { res } = rest
    while (this.#rests.has(rest)) {
      const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
      const piece = unsent.length > 1 ? unsent.subarray(0, -1) : unsent
      let isAccepted = false
      // Outside a cork, the library prints a warning for each call.
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
   * Moves a client that has made progress to the end of the order. If at least half of the kept bytes are taken, copies the
   * others and frees the old buffer. So all copies of one body together are no larger than the body.
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
