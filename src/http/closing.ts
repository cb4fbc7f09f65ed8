/**
 * Closes connections, except those of streams (streams.ts) and in the last step of a drain (server.ts). Requests are received in
 * requests.ts; responses that leave the connection open are sent in response.ts.
 *
 *     state     | meaning                                  | next
 *     ----------|------------------------------------------|-----------------------------------------------------
 *     open      | accepts requests                         | ending: the client wants it, the end of a request is
 *               |                                          | ambiguous (requests.ts), or the service drains
 *     ending    | the next response is the last            | gone: the library sends it and closes, if it is
 *               |                                          | small and its request complete; otherwise unread
 *     unread    | the client has not taken all of a        | lingering after the last response, otherwise open;
 *               | response, the last or an earlier one     | gone, silently, if the client does not read in time
 *     lingering | the last response has been taken; its    | gone: the body has ended, pauses or takes too long
 *               | request's body may still be arriving     |
 *     gone      | closed, or the client has disconnected   | none: `res` must no longer be accessed
 *
 * Connections are closed from a timer or within the library's handlers, never from an immediate (server.ts explains why).
 */
import type { HttpResponse } from 'uWebSockets.js'
import { beforeNextPoll, isAfterPoll } from '../base/after-poll.js'
import type { Answer, AnswerRoom, CloseCause } from './answer.js'
import { type Headed, writeHead, writeWholeHead } from './head.js'
import { bytesOf, type Rest, Rests } from './unread.js'

/** Maximum time for which a client may read nothing: enough to resend lost packets several times on any link. */
export const unreadMsMax = 30_000

/** The limit while unread responses take more than half of the room: lower, so that other clients get whole pages again. */
export const unreadMsCrowdedMax = 5000

/** If a client has read within this time, the kernel need not be asked: the library waits longer, 10 s. */
const askAgainMs = 3000

/** Maximum time that a lingering connection waits for the next piece of a body: a lost packet is resent sooner. */
const lingerSilenceMsMax = 1000

/** Maximum total wait: a client that sends everything before it reads can send 12 MB at 10 Mbit/s. */
const lingerMsMax = 10_000

const noBytes = new Uint8Array()

/** The receiver of a response; its request's body may still be arriving. */
export interface Receiver extends Headed {
  /** True if the connection closes with the response: the client wants it, or later bytes cannot be trusted. */
  closing: boolean
  /** True if the library itself closes with the response: it has recognised that the client wants to close. */
  libraryCloses: boolean
  bodyEnded: boolean
  /** True after the client has disconnected; `res` must then not be accessed. */
  aborted: boolean
  /** Called for each piece that arrives after the response. */
  onDropped: (() => void) | undefined
}

export class Closing {
  readonly rests: Rests
  /** Clients for whose last bytes a drain waits: they are still sending a body, or have not taken all of a stream. */
  readonly lingering = new Set<Receiver>()
  /** If true, every response except a stream closes its connection. */
  isDraining = false

  /** @param closed called for each connection closed without a response, or before the client has read all of it */
  constructor(
    room: AnswerRoom,
    private readonly closed: (cause: CloseCause) => void,
  ) {
    this.rests = new Rests(room, (rest) => this.#giveUp(rest))
  }

  /** The abort handler of `res` runs during the call. Must not be called from an immediate. */
  closeSilently(res: HttpResponse, cause: CloseCause): void {
    this.closed(cause)
    res.close()
  }

  /**
   * Closes connections whose clients have read nothing for too long, sooner if many bytes are unread. The kernel reports room only
   * when a third of its buffer is free, which at 100 kB/s takes longer than the 10 s that the library waits. So this
   * method asks the kernel; asking also restarts the 10 s. Must be called from a timer, about once a second.
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
   * Sends the response, and closes the connection after the client has taken everything and stopped sending, within time
   * limits. Must be called within the library's handler or a cork.
   *
   * @param isSmall whether the library may buffer the whole response
   */
  sendLast(receiver: Receiver, answer: Answer, isSmall: boolean): void {
    const { res } = receiver
    if (answer.body.length === 0) {
      writeWholeHead(receiver, answer)
      return this.#closeAfterBody(receiver, this.rests.keep(res, noBytes))
    }
    writeHead(receiver, answer)
    if (isSmall && receiver.bodyEnded && !isAfterPoll()) {
      // Here the library may close. It does so after sending this response and the responses to any requests that
      // arrived later. It adds the header itself unless it saw that the client wants to close.
      if (receiver.libraryCloses) res.writeHeader('connection', 'close')
      res.end(answer.body, true)
    } else this.#sendAndClose(receiver, bytesOf(answer.body))
  }

  /**
   * Sends a body, and closes the connection after the client has taken all of it and the wait for the rest of its
   * request is over.
   *
   * A complete response invalidates `res`. Only `end` can complete a response and close, but it buffers without limit
   * and closes immediately. So the library is given a total of one byte more than the body has: the response is never
   * complete, and another request closes the connection. Otherwise `#closeAfterBody` closes it once closing cannot leak
   * memory (server.ts).
   *
   * @param body at least two bytes
   */
  #sendAndClose(receiver: Receiver, body: Uint8Array): void {
    const { res } = receiver
    res.writeHeader('connection', 'close')
    // The first call writes the content-length, so it passes the right total.
    res.tryEnd(body.subarray(0, -1), body.length)
    const rest = this.rests.keep(res, body)
    let isTaken = false
    /** Sends the next pieces. @returns true if no bytes are left to send, or the connection is gone */
    rest.sendMore = () => {
      if (isTaken || !this.rests.has(rest)) return true
      isTaken = this.rests.sendPieces(rest, body.length + 1)
      if (isTaken) this.#closeAfterBody(receiver, rest)
      return isTaken
    }
    res.onWritable(rest.sendMore)
    // After the cork around this call, but before the next poll, which may bring the rest of a request with an ambiguous
    // end, and the bytes after it.
    beforeNextPoll(rest.sendMore)
  }

  /**
   * Keeps the connection open for a while. Closing a socket with unread bytes resets it, and a client that sends everything
   * before it reads would lose its response. So the rest of the body is dropped. The wait ends when the body ends, when no piece
   * has arrived for `lingerSilenceMsMax`, or after `lingerMsMax`.
   *
   * @param close called at the end of the wait, never before this method returns: from a timer or, if a piece ends the wait,
   *   from `onDropped`, so that nothing after the body is parsed. The connection may already be closed
   */
  whenBodyEnds(receiver: Receiver, close: () => void): void {
    this.lingering.add(receiver)
    const end = (): void => {
      receiver.onDropped = undefined
      this.lingering.delete(receiver)
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

  /** Frees the kept bytes and closes the connection. */
  #giveUp(rest: Rest): void {
    if (!isAfterPoll()) return this.closeSilently(rest.res, 'unread')
    this.rests.release(rest)
    setTimeout(() => {
      if (!rest.isGone) this.closeSilently(rest.res, 'unread')
    }, 0)
  }
}
