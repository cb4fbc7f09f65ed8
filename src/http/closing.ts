/**
 * The ends of connections: everything that closes one, but for the drain's last step (server.ts). Requests are received
 * in requests.ts, and other answers sent in response.ts.
 *
 *     state     | meaning                                  | next
 *     ----------|------------------------------------------|-----------------------------------------------------
 *     open      | requests are welcome                     | ending: a client wants that, the end of a request is
 *               |                                          | in doubt (requests.ts), or the service drains
 *     ending    | the next answer is the last              | gone: the library sends it and closes, if it is
 *               |                                          | small and its request complete; otherwise unread
 *     unread    | an answer, the last or not, has not been | lingering if it was the last, otherwise open; gone,
 *               | taken                                    | silently: its client has read nothing for too long
 *     lingering | the last answer has been taken, and its  | gone: the body has ended, pauses or takes too long
 *               | request's body may still be arriving     |
 *     gone      | it was closed, or its client has left    | none: `res` must not be touched any more
 *
 * A connection is closed from a timer or within the library's handlers, never from an immediate (server.ts says why).
 */
import type { HttpResponse } from 'uWebSockets.js'
import { beforeNextPoll, isAfterPoll } from '../base/after-poll.js'
import type { Answer, AnswerRoom, CloseCause } from './answer.js'
import { type Headed, writeHead, writeWholeHead } from './head.js'
import { bytesOf, type Rest, Rests } from './unread.js'

/** How long a client may read nothing of its answer: lost packets are resent several times meanwhile, on any line. */
export const unreadMsMax = 30_000

/** The same while more than half of the room for unread answers is taken, so that others get whole pages again. */
export const unreadMsCrowdedMax = 5000

/** Where a client has read within this time, the kernel need not be asked: the library waits for 10 s. */
const askAgainMs = 3000

/** How long a lingering connection waits for the next piece of a body: a lost packet is resent sooner. */
const lingerSilenceMsMax = 1000

/** How long it waits in total: a client that sends everything before it reads can send 12 MB at 10 Mbit/s. */
const lingerMsMax = 10_000

const noBytes = new Uint8Array()

/** A request whose body may still be arriving, and where its answer goes. */
export interface Receiver extends Headed {
  /** True if the connection closes with its answer: its client wants it, or later bytes cannot be trusted. */
  closing: boolean
  /** True if the library itself closes with the answer: the request wants that in words that the library knows. */
  libraryCloses: boolean
  bodyEnded: boolean
  /** Once the client has gone, `res` must not be accessed. */
  aborted: boolean
  /** Called after each piece that arrives once the request has been answered. */
  onDropped: (() => void) | undefined
}

export class Closing {
  readonly rests: Rests
  /** Every answer then ends its connection. */
  isDraining = false
  #lingering = 0

  /** @param closed called for each connection that is closed without an answer, or before all of it was read */
  constructor(
    room: AnswerRoom,
    private readonly closed: (cause: CloseCause) => void,
  ) {
    this.rests = new Rests(room, (rest) => this.#giveUp(rest))
  }

  get lingering(): number {
    return this.#lingering
  }

  /** The abort handler of `res` runs during the call. Must not be called in an immediate. */
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
    const beforeMs = nowMs - (this.rests.isCrowded ? unreadMsCrowdedMax : unreadMsMax)
    for (const rest of this.rests.values()) {
      if (rest.sinceMs > nowMs - askAgainMs) break
      if (rest.bytes.length === 0) continue
      rest.sendMore()
      if (rest.sinceMs <= beforeMs && this.rests.has(rest)) this.closeSilently(rest.res, 'unread')
    }
  }

  /**
   * Ends the connection once the client has taken everything and stopped sending, within bounds. Must be called within
   * the library's handler or a cork.
   *
   * @param isSmall whether the library may buffer all of the answer
   */
  sendLast(receiver: Receiver, answer: Answer, isSmall: boolean): void {
    const { res } = receiver
    if (answer.body.length === 0) {
      writeWholeHead(receiver, answer)
      return this.#closeAfterBody(receiver, this.rests.keep(res, noBytes))
    }
    writeHead(receiver, answer)
    if (isSmall && receiver.bodyEnded && !isAfterPoll()) {
      // Here the library may close, which it does once the client has this answer, and those to requests that have
      // arrived behind it. It adds the header unless it saw that the client wants it.
      if (receiver.libraryCloses) res.writeHeader('connection', 'close')
      res.end(answer.body, true)
    } else this.#sendAndClose(receiver, bytesOf(answer.body))
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
    const rest = this.rests.keep(res, body)
    let isTaken = false
    /** Sends the next pieces; returns whether the client, or its connection's end, is all that is waited for. */
    rest.sendMore = () => {
      if (isTaken || !this.rests.has(rest)) return true
      isTaken = this.rests.sendPieces(rest, body.length + 1)
      if (isTaken) this.#closeAfterBody(receiver, rest)
      return isTaken
    }
    res.onWritable(rest.sendMore)
    // Once the cork around this call is over, but before the next poll, which may bring the rest of a request whose end
    // is in doubt, and what is behind it.
    beforeNextPoll(rest.sendMore)
  }

  /**
   * Lets the connection linger: a socket that is closed with unread bytes is reset, and a client that sends everything before
   * it reads loses its answer. So what is left of the body is dropped, until it has ended, no piece has arrived for
   * `lingerSilenceMsMax`, or it is still arriving after `lingerMsMax`.
   *
   * @param close called then, never before this returns, and only from a timer or, where a piece ends the wait, within
   *   `onDropped`, so that nothing after the body is parsed; the connection may have ended by then
   */
  whenBodyEnds(receiver: Receiver, close: () => void): void {
    this.#lingering++
    const end = (): void => {
      receiver.onDropped = undefined
      this.#lingering--
      close()
    }
    if (receiver.bodyEnded) return void setTimeout(end, 0)
    const startMs = performance.now()
    const silence = setTimeout(end, lingerSilenceMsMax)
    receiver.onDropped = () => {
      if (!receiver.bodyEnded && performance.now() - startMs < lingerMsMax) return void silence.refresh()
      clearTimeout(silence)
      end()
    }
  }

  #closeAfterBody(receiver: Receiver, rest: Rest): void {
    this.whenBodyEnds(receiver, () => {
      if (this.rests.has(rest)) rest.res.close()
    })
  }

  /** Frees what is kept, and closes the connection. */
  #giveUp(rest: Rest): void {
    if (!isAfterPoll()) return this.closeSilently(rest.res, 'unread')
    this.rests.release(rest)
    setTimeout(() => {
      if (!rest.isGone) this.closeSilently(rest.res, 'unread')
    }, 0)
  }
}
