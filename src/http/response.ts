/**
 * Responses: status line, headers, body, and the parts of them that clients have not read yet. Requests and their state
 * are in exchange.ts, which ensures that each is answered at most once, and never after its client has gone.
 *
 * A body is sent by `end` or `tryEnd` (server.ts says why). The unread rests of bodies are kept here, within a bound on
 * their total size. Beyond it, the connections that have waited longest are closed, so that a client that does not read
 * costs the others nothing.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { isAfterPoll } from '../after-poll.js'
import { answerBytesSmallMax, answerBytesWaitingMax, answersPerProbe } from '../limits.js'
import type { Answer, CloseCause } from './answer.js'
import type { OriginHeaders } from './cors.js'
import { closeAfterBody, type Incoming } from './linger.js'

/** As bytes, which the library copies; it would convert a string for every answer. */
const contentTypeName = Buffer.from('content-type')
const contentTypeJson: Uint8Array | string = Buffer.from('application/json')

const statusLines: Readonly<Record<number, string>> = {
  200: '200 OK',
  204: '204 No Content',
  301: '301 Moved Permanently',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  411: '411 Length Required',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  417: '417 Expectation Failed',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
  507: '507 Insufficient Storage',
}

function statusLine(status: number): string {
  return statusLines[status] ?? String(status)
}

/** Where an answer goes. */
export interface Receiver extends Incoming {
  readonly res: HttpResponse
  /** Whether a 100 has been sent, which the library took for the status line. */
  continued: boolean
  /** What the answer carries because of the request's origin; undefined without a policy on origins. */
  originHeaders: OriginHeaders | undefined
}

/**
 * Sends `100 Continue`. The library does so only for one spelling of the expectation, and has no call for it. So the
 * status line is a 100 followed by an empty line, and the real one is written later, in front of the first header's
 * name.
 */
export function sendContinue(receiver: Receiver): void {
  receiver.res.writeStatus('100 Continue\r\n')
  receiver.continued = true
}

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
    const { res } = receiver
    const { body, bodyBytesUnsent } = answer
    const isLast = closing || this.#draining
    if (isLast && (bodyBytesUnsent ?? body.length) === 0) return sendEmptyAndClose(receiver, answer)
    writeHead(receiver, answer)
    if (isLast) this.#sendAndClose(receiver, bytesOf(body), bodyBytesUnsent)
    else if (body.length <= answerBytesSmallMax && Math.random() > 1 / answersPerProbe) res.end(body)
    else this.#sendBounded(res, bytesOf(body))
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
   * @param total the content-length where it is not the body's: an answer to HEAD has that of the body it leaves out
   */
  #sendAndClose(receiver: Receiver, body: Uint8Array, total = body.length): void {
    const { res } = receiver
    res.writeHeader('connection', 'close')
    // The first call writes the content-length, so it passes the right total; it leaves the last byte for the next
    // call.
    res.tryEnd(body.subarray(0, Math.max(body.length - 1, 0)), total)
    const rest = this.#keep(res, body)
    let isTaken = false
    /** Sends what is left, and closes once the kernel has all of it; returns whether it has. */
    const flushAndClose = (): boolean => {
      if (isTaken || !this.#rests.has(rest)) return true
      const unsent = rest.bytes.subarray(res.getWriteOffset() - rest.from)
      let isAccepted = false
      // Outside of a cork, the library prints a warning for each call.
      res.cork(() => {
        ;[isAccepted] = res.tryEnd(unsent, total + 1)
      })
      // What was accepted in a cork may still be in the library, which then accepts nothing more, not even nothing. But
      // the next poll may bring the rest of a request whose end is in doubt, and what is behind it.
      const soon = isAfterPoll() ? process.nextTick : setImmediate
      if (isAccepted && unsent.length > 0) soon(flushAndClose)
      isTaken = isAccepted && unsent.length === 0
      if (isTaken) closeAfterBody(receiver, () => this.#rests.has(rest) && res.close())
      return isTaken
    }
    res.onWritable(flushAndClose)
    flushAndClose()
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
      this.#giveUp(oldest)
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

/** Status and headers, except those that the library adds. */
function writeHead({ res, originHeaders, continued }: Receiver, answer: Answer): void {
  const { status, headers, contentType = contentTypeJson } = answer
  if (continued) res.writeHeader(`HTTP/1.1 ${statusLine(status)}\r\ncontent-type`, contentType)
  else {
    if (status !== 200) res.writeStatus(statusLine(status))
    if (status !== 204) res.writeHeader(contentTypeName, contentType)
  }
  if (originHeaders !== undefined) for (const [name, value] of originHeaders) res.writeHeader(name, value)
  if (headers !== undefined) for (const [name, value] of headers) res.writeHeader(name, value)
}

/** Sends an answer without a body. The library closes with it, so it must come from a timer. */
function sendEmptyAndClose(receiver: Receiver, answer: Answer): void {
  const { res } = receiver
  let isGone = false
  res.onAborted(() => {
    isGone = true
  })
  setTimeout(() => {
    if (isGone) return
    res.cork(() => {
      writeHead(receiver, answer)
      res.end('', true)
    })
  }, 0)
}

function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
