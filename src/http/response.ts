/**
 * Responses: bodies, the parts of them that clients have not read yet, and the ends of connections. Heads are in
 * head.ts, requests and their state in exchange.ts, which ensures that each is answered at most once, and never after
 * its client has gone.
 *
 * A body is sent by `end` or `tryEnd` (server.ts says why). The unread rests of bodies are kept here, within a bound on
 * their total size. Beyond it, the connections that have waited longest are closed, so that a client that does not read
 * costs the others nothing.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { isAfterPoll } from '../after-poll.js'
import { answerBytesSmallMax, answerBytesWaitingMax, answersPerProbe } from '../limits.js'
import type { Answer, CloseCause } from './answer.js'
import { type Headed, writeHead, writeWholeHead } from './head.js'
import { closeAfterBody, type Incoming } from './linger.js'

const noBytes = new Uint8Array()

/** Where an answer goes. */
export interface Receiver extends Incoming, Headed {}

/** The part of a body that its client has not read. */
interface Rest {
  readonly res: HttpResponse
  readonly bytes: Buffer
  /** Where `bytes` begin in the body. */
  readonly from: number
  /** When it was kept, of performance.now(). */
  readonly sinceMs: number
  /** Whether its connection has ended: `res` must not be touched any more. */
  isGone: boolean
}

export class Responses {
  readonly #closed: (cause: CloseCause) => void
  readonly #rests = new Set<Rest>()
  #restBytes = 0
  #draining = false

  /** @param closed called for each connection that is closed without an answer, or before all of it was read */
  constructor(closed: (cause: CloseCause) => void) {
    this.#closed = closed
  }

  /** Connections that have not read all of their answer. */
  get unread(): number {
    return this.#rests.size
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
    this.#closed(cause)
    res.close()
  }

  /** Closes every connection whose answer has been unread since before `beforeMs`, of performance.now(). */
  closeUnread(beforeMs: number): void {
    for (const { res, sinceMs } of this.#rests) {
      if (sinceMs > beforeMs) break
      this.closeSilently(res, 'unread')
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
    res.onWritable((offset) => {
      let taken = false
      if (!this.#rests.has(rest)) return taken
      res.cork(() => {
        const [room, done] = res.tryEnd(rest.bytes.subarray(offset - rest.from), body.length)
        if (done) this.#release(rest)
        taken = room
      })
      return taken
    })
  }

  /**
   * Sends a body, and closes the connection once the client has taken all of it and the wait for the rest of its
   * request is over.
   *
   * A complete answer invalidates `res`, and only `end`, which buffers without limit and closes at once, can complete
   * one and close. So the library is given a total of one byte more than there is: the answer is never complete, a
   * further request ends the connection, and otherwise it is closed here, at a time at which nothing leaks (server.ts).
   *
   * What was accepted in a cork may still be in the library. It accepts a further byte only when that is not so, and
   * answers that every empty piece is accepted, or completes the answer with it, depending on its version. So the last
   * byte goes alone. Of that byte alone it is not known whether the kernel had room for it.
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
    const sendMore = (): boolean => {
      if (isTaken) return true
      while (!isTaken && this.#rests.has(rest)) {
        const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
        const piece = unsent.length > 1 ? unsent.subarray(0, -1) : unsent
        let isAccepted = false
        // Outside of a cork, the library prints a warning for each call.
        res.cork(() => {
          ;[isAccepted] = res.tryEnd(piece, body.length + 1)
        })
        if (!isAccepted) return false
        isTaken = piece === unsent
      }
      if (isTaken) this.#closeAfterBody(receiver, rest)
      return true
    }
    res.onWritable(sendMore)
    // Once the cork around this call is over, but before the next poll, which may bring the rest of a request whose end
    // is in doubt, and what is behind it.
    const soon = isAfterPoll() ? process.nextTick : setImmediate
    soon(sendMore)
  }

  /** Closes the connection, unless it has ended by then, once the wait for the rest of its request is over. */
  #closeAfterBody(receiver: Receiver, rest: Rest): void {
    closeAfterBody(receiver, () => this.#rests.has(rest) && rest.res.close())
  }

  /**
   * Keeps what has not been sent of `body`, until it is released or the client has gone. Makes room by closing the
   * connections that have waited longest.
   */
  #keep(res: HttpResponse, body: Uint8Array): Rest {
    const from = res.getWriteOffset()
    const more = body.length - from
    for (const oldest of this.#rests) {
      if (this.#restBytes + more <= answerBytesWaitingMax) break
      if (oldest.bytes.length > 0) this.#giveUp(oldest)
    }
    const bytes = Buffer.from(body.subarray(from))
    const rest: Rest = { res, bytes, from, sinceMs: performance.now(), isGone: false }
    this.#rests.add(rest)
    this.#restBytes += more
    res.onAborted(() => {
      rest.isGone = true
      this.#release(rest)
    })
    return rest
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
