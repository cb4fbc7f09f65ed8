/**
 * Responses: bodies, the parts of them that clients have not read yet, and the ends of connections. Heads are in
 * head.ts, requests and their state in exchange.ts, which ensures that each is answered at most once, and never after
 * its client has gone.
 *
 * A body is sent by `end` or `tryEnd` (server.ts says why). The unread rests of bodies are kept here, within a bound on
 * their total size. They are ordered by when their clients last read a part of them, and those who have read nothing for
 * longest are closed first: after a while, sooner if much is unread, at once if there is no room. So that nobody who
 * reads is closed for the sake of others, pages end early by `bytesFree` (api/fetch.ts), and exchange.ts refuses a read
 * whose answer does not fit.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { isAfterPoll } from '../base/after-poll.js'
import {
  answerBytesAlwaysMax,
  answerBytesSmallMax,
  answerBytesWaitingMax,
  answersPerProbe,
  progressBytesMin,
  unreadMsCrowdedMax,
  unreadMsMax,
} from '../settings/limits.js'
import type { Answer, CloseCause } from './answer.js'
import { type Headed, writeHead, writeWholeHead } from './head.js'
import { closeAfterBody, type Incoming } from './linger.js'

const noBytes = new Uint8Array()

/** Where a client has read within this time, the kernel need not be asked: the library waits for 10 s. */
const askAgainMs = 3000

/** Where an answer goes. */
export interface Receiver extends Incoming, Headed {}

/** The part of a body that its client has not read, preceded by no more than the same amount that it has. */
interface Rest {
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
  /** Whether its connection has ended: `res` must not be touched any more. */
  isGone: boolean
}

export class Responses {
  /** Those whose clients have read nothing for longest come first. */
  readonly #rests = new Set<Rest>()
  #restBytes = 0
  #draining = false

  /** @param closed called for each connection that is closed without an answer, or before all of it was read */
  constructor(private readonly closed: (cause: CloseCause) => void) {}

  /** Connections that have not read all of their answer. */
  get unread(): number {
    return this.#rests.size
  }

  /** Room for further rests. */
  get bytesFree(): number {
    return answerBytesWaitingMax - this.#restBytes
  }

  /** Whether this answer can be kept though its client reads nothing, or is so small that it is always sent. */
  hasRoom({ body }: Answer): boolean {
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    return bytes <= answerBytesAlwaysMax || bytes <= this.bytesFree
  }

  /** From now on every answer ends its connection. */
  drain(): void {
    this.#draining = true
  }

  /**
   * Sends an answer. With `closing`, the connection ends once the client has taken all of it and stopped sending,
   * within bounds. Must be called within the library's handler or a cork, so that everything is sent in one piece.
   */
  send(receiver: Receiver, answer: Answer, closing: boolean): void {
    const { body } = answer
    if (closing || this.#draining) return this.#sendLast(receiver, answer, closing)
    writeHead(receiver, answer)
    if (isSmall(answer) && Math.random() > 1 / answersPerProbe) receiver.res.end(body)
    else this.#sendBounded(receiver.res, bytesOf(body))
  }

  /**
   * Closes a connection without an answer, or before all of it was read; its abort handler runs during the call. Must
   * not be called in an immediate.
   */
  closeSilently(res: HttpResponse, cause: CloseCause): void {
    this.closed(cause)
    res.close()
  }

  /**
   * Closes every connection whose client reads nothing, sooner if much is unread. The kernel reports room only when a
   * third of its buffer is free, which at 100 kB/s takes longer than the 10 s that the library waits. So it is asked
   * here, which also starts those 10 s again. Must be called from a timer, about once a second.
   */
  closeUnread(): void {
    const nowMs = performance.now()
    const isCrowded = this.bytesFree < answerBytesWaitingMax / 2
    const beforeMs = nowMs - (isCrowded ? unreadMsCrowdedMax : unreadMsMax)
    for (const rest of this.#rests) {
      if (rest.sinceMs > nowMs - askAgainMs) break
      if (rest.bytes.length === 0) continue
      rest.sendMore()
      if (rest.sinceMs <= beforeMs && this.#rests.has(rest)) this.closeSilently(rest.res, 'unread')
    }
  }

  /** Sends an answer that ends its connection; `closing` is false when only the drain ends it. */
  #sendLast(receiver: Receiver, answer: Answer, closing: boolean): void {
    const { res } = receiver
    if (answer.body.length === 0) return this.#sendHeadAndClose(receiver, answer)
    writeHead(receiver, answer)
    if (isSmall(answer) && receiver.bodyEnded && !isAfterPoll()) {
      // Here the library may close, which it does once the client has this answer, and those to requests that have
      // arrived behind it. It adds the header unless it saw that the client wants it.
      if (closing) res.writeHeader('connection', 'close')
      res.end(answer.body, true)
    } else this.#sendAndClose(receiver, bytesOf(answer.body))
  }

  /** Sends an answer without a body, and closes the connection once the wait for the rest of its request is over. */
  #sendHeadAndClose(receiver: Receiver, answer: Answer): void {
    writeWholeHead(receiver, answer)
    this.#closeAfterBody(receiver, this.#keep(receiver.res, noBytes))
  }

  /** Sends a body, and keeps what the client does not take at once. */
  #sendBounded(res: HttpResponse, body: Uint8Array): void {
    const [taken, done] = res.tryEnd(body, body.length)
    if (taken || done) return
    const rest = this.#keep(res, body)
    rest.sendMore = () => this.#sendPieces(rest, body.length)
    res.onWritable(rest.sendMore)
  }

  /**
   * Sends a body, and closes the connection once the client has taken all of it and the wait for the rest of its
   * request is over.
   *
   * A complete answer invalidates `res`, and only `end`, which buffers without limit and closes at once, can complete
   * one and close. So the library is given a total of one byte more than there is: the answer is never complete, a
   * further request ends the connection, and otherwise it is closed here, at a time at which nothing leaks (server.ts).
   *
   * @param body of two bytes at least
   */
  #sendAndClose(receiver: Receiver, body: Uint8Array): void {
    const { res } = receiver
    res.writeHeader('connection', 'close')
    // The first call writes the content-length, so it passes the right total.
    res.tryEnd(body.subarray(0, -1), body.length)
    const rest = this.#keep(res, body)
    let isTaken = false
    /** Sends the next pieces; returns whether the client, or its connection's end, is all that is waited for. */
    rest.sendMore = () => {
      if (isTaken || !this.#rests.has(rest)) return true
      isTaken = this.#sendPieces(rest, body.length + 1)
      if (isTaken) this.#closeAfterBody(receiver, rest)
      return isTaken
    }
    res.onWritable(rest.sendMore)
    // Once the cork around this call is over, but before the next poll, which may bring the rest of a request whose end
    // is in doubt, and what is behind it.
    const soon = isAfterPoll() ? process.nextTick : setImmediate
    soon(rest.sendMore)
  }

  /**
   * Hands over what the kernel has room for; returns whether that was all of the body. With it, the answer is complete
   * and its rest released, unless `total` is more than the body has.
   *
   * What was accepted in a cork, up to 16 KiB, may still be in the library. It accepts a further byte only when that is
   * not so, and answers that every empty piece is accepted, or completes the answer with it, depending on its version.
   * So the last byte goes alone. Of that byte alone it is not known whether the kernel had room for it.
   */
  #sendPieces(rest: Rest, total: number): boolean {
    const { res } = rest
    while (this.#rests.has(rest)) {
      const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
      const piece = unsent.length > 1 ? unsent.subarray(0, -1) : unsent
      let isAccepted = false
      // Outside of a cork, the library prints a warning for each call.
      res.cork(() => {
        const [accepted, done] = res.tryEnd(piece, total)
        if (done) this.#release(rest)
        else this.#advance(rest)
        isAccepted = accepted
      })
      if (!isAccepted) return false
      if (piece === unsent) return true
    }
    return false
  }

  /** Closes the connection, unless it has ended by then, once the wait for the rest of its request is over. */
  #closeAfterBody(receiver: Receiver, rest: Rest): void {
    closeAfterBody(receiver, () => this.#rests.has(rest) && rest.res.close())
  }

  /**
   * Keeps what has not been sent of `body`, until it is released or the client has gone. Makes room by closing
   * connections, which only an answer that cannot be refused needs.
   */
  #keep(res: HttpResponse, body: Uint8Array): Rest {
    const from = res.getWriteOffset()
    const more = body.length - from
    for (const oldest of this.#rests) {
      if (this.#restBytes + more <= answerBytesWaitingMax) break
      if (oldest.bytes.length > 0) this.#giveUp(oldest)
    }
    const bytes = Buffer.from(body.subarray(from))
    const sinceMs = performance.now()
    const rest: Rest = { res, bytes, from, takenBytes: from, sinceMs, sendMore: () => true, isGone: false }
    this.#rests.add(rest)
    this.#restBytes += more
    res.onAborted(() => {
      rest.isGone = true
      this.#release(rest)
    })
    return rest
  }

  /**
   * If the client has taken enough, it is now the last to be closed. What it has taken is freed once it is half of what is
   * kept: all these copies together are no larger than the body.
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
    this.#restBytes -= freed
  }

  /** Frees what is kept, and closes the connection. */
  #giveUp(rest: Rest): void {
    if (!isAfterPoll()) return this.closeSilently(rest.res, 'unread')
    this.#release(rest)
    setTimeout(() => {
      if (!rest.isGone) this.closeSilently(rest.res, 'unread')
    }, 0)
  }

  #release(rest: Rest): void {
    if (this.#rests.delete(rest)) this.#restBytes -= rest.bytes.length
  }
}

function isSmall({ body }: Answer): boolean {
  return body.length <= answerBytesSmallMax
}

function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
