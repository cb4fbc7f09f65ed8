/**
 * Receives requests: checks headers, receives bodies within bounds, and hands whole bodies to the route. The service
 * decides the responses; exchange.ts and response.ts send them.
 *
 * A request whose end is missing or ambiguous is rejected. A chunked request is served, although only the library knows its
 * end, and the library accepts several kinds of malformed chunk. Both kinds of request close the connection, and are
 * answered after the parser has processed the bytes that have arrived. If these bytes contain another request, the first is
 * still unanswered, which also closes the connection. Writes are also handled only after the parser has returned: if later
 * bytes close the connection before the response, nothing has changed. If a connection closes only because the client or the
 * server wants it to, requests that the client has already sent are still answered.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { afterPoll } from '../base/after-poll.js'
import type { Answer, Refusal, Route, Sender, Service, Upload } from './answer.js'
import { allowTime, type Bodies, bodyBytesWaitingMax, mayStillArrive } from './body.js'
import type { Cors } from './cors.js'
import type { Exchange, Exchanges } from './exchange.js'
import { sendContinue } from './head.js'
import { framingOfSeen, isJson, isLines, readHeaders, seen } from './headers.js'
import { isCrossOrigin } from './same-origin.js'
import type { Uploads } from './uploads.js'

/** Maximum requests in flight in one worker. More are rejected: a longer queue would only add delay. */
const requestsWaitingMax = 10_000

/** The limit for writes: lower, so that reads continue while the writer hangs and writes wait for it. */
const writesWaitingMax = 0.9 * requestsWaitingMax

/** Time limit for a rejected chunked body: below the 10 s after which the library closes a slow connection. */
const refusedMsMax = 5000

/** Maximum bytes dropped beyond `bodyBytesMax`: most clients read the response only after sending everything. Larger bodies are cut off. */
const bodyBytesDroppedMax = 32 * 1024 * 1024

/** A method preceded by body bytes beyond the previous request's content-length; no JSON object ends in a letter. */
const precededMethod = /[^a-z](?:get|head|post)$/

interface Whole<Caller> {
  readonly exchange: Exchange<Caller>
  readonly route: Route<Caller>
  readonly body: Buffer
}

export class Requests<Caller extends object> {
  /** Exchanges that received a part of their body after the last call to `allowTime`. */
  readonly #arriving = new Set<Exchange<Caller>>()
  /** Whole requests, handled after the parser has returned. */
  #whole: Whole<Caller>[] = []

  constructor(
    private readonly service: Service<Caller>,
    private readonly exchanges: Exchanges<Caller>,
    private readonly bodies: Bodies,
    private readonly uploads: Uploads<Caller>,
    private readonly bodyBytesMax: number,
    private readonly cors: Cors | undefined,
  ) {}

  /** Receives a POST to one of the routes. */
  onRoute(route: Route<Caller>, res: HttpResponse, req: HttpRequest): void {
    readHeaders(req)
    const framing = framingOfSeen()
    const bytesIn = framing === 'length' ? Number(seen.contentLength) : 0
    const exchange = this.exchanges.open(res, route, bytesIn)
    exchange.closing = seen.close
    exchange.libraryCloses = seen.libraryCloses
    const takesLines = route.upload !== undefined && isLines()
    if (route.asksHeaders === true || takesLines) {
      const { accept, acceptEncoding, authorization, contentLength, lastEventId } = seen
      exchange.headers = { accept, acceptEncoding, authorization, contentLength, lastEventId }
    }
    if (route.sameOrigin === true) exchange.sender = senderOf(res, req)
    else if (this.cors !== undefined) exchange.originHeaders = this.cors.headersFor(req)
    const isForeign = route.sameOrigin === true && isCrossOrigin(req)
    if (framing === 'invalid') return this.#refuseAndClose(exchange, 'invalid_framing')
    if (framing === 'none') return this.#refuseAndClose(exchange, 'length_required')
    // The client waits for the result of its expectation, so only the framing is checked earlier.
    if (seen.unknownExpectation) return this.#refuseAndClose(exchange, 'expectation_failed')
    if (seen.continueExpected) sendContinue(exchange)
    const refused = isForeign ? this.service.refusal('cross_origin') : this.#check(exchange, route, takesLines)
    if (takesLines && refused === undefined) {
      // The end is ambiguous: the body is chunked, or its length of 0 may hide another length (server.ts).
      exchange.closing ||= bytesIn === 0
      return this.uploads.receive(exchange, (inlet) => route.upload?.(exchange, inlet) as Upload)
    }
    if (framing === 'chunked') return this.#receiveChunks(exchange, route, refused)
    if (refused !== undefined) return this.#refuseUnread(exchange, refused)
    if (bytesIn === 0) return this.#refuseAndClose(exchange, 'empty_body')
    this.#receive(exchange, route)
  }

  /**
   * Answers all other requests, such as those for pages, preflights and unknown routes, after dropping the body. The
   * connection stays open only after a GET for a page.
   *
   * @param isShared false to ignore the policy on origins
   */
  onOther(res: HttpResponse, req: HttpRequest, answer: Answer | Promise<Answer>, isShared = true): void {
    readHeaders(req)
    const framing = framingOfSeen()
    const bytesIn = framing === 'length' ? Number(seen.contentLength) : 0
    const exchange = this.exchanges.open(res, undefined, 0)
    if (isShared && this.cors !== undefined) exchange.originHeaders = this.cors.headersFor(req)
    const method = req.getMethod()
    const isInvalid = framing === 'invalid' || precededMethod.test(method)
    const replyOf = (known: Answer): Answer => {
      const checked = isInvalid ? this.service.refusal('invalid_framing') : known
      return method === 'head' ? headOf(checked) : checked
    }
    if (answer instanceof Promise) {
      exchange.closing = seen.close || framing !== 'none' || isInvalid || seen.unknownExpectation || method === 'head'
      this.#onPiece(exchange, () => {})
      return this.exchanges.finishWhenKnown(exchange, answer.then(replyOf))
    }
    const reply = replyOf(answer)
    const hasBody = framing === 'chunked' || (framing === 'length' && bytesIn > 0)
    if (seen.continueExpected) sendContinue(exchange)
    if (hasBody && !seen.unknownExpectation) return this.#answerAfterBody(exchange, reply)
    // Keeps the connection for pages, because a browser loads dozens of files. A length of 0 may hide another (server.ts).
    exchange.closing = seen.close || framing !== 'none' || seen.unknownExpectation || !isPage(reply)
    this.#answerUnread(exchange, reply)
  }

  /** Gives slow bodies more time; the library closes silent connections after 10 s. Must be called from a timer, once a second. */
  allowTime(): void {
    const nowMs = performance.now()
    // If room gets scarce, slow bodies get no more time.
    const hasRoom = this.bodies.bytesHeld < bodyBytesWaitingMax / 2
    for (const { done, bodyEnded, bytesIn, startMs, res } of this.#arriving) {
      if (hasRoom && !done && !bodyEnded && mayStillArrive(bytesIn, nowMs - startMs)) allowTime(res)
    }
    this.#arriving.clear()
  }

  /** The rejection, before any of the body is kept; undefined, with the caller set, if the request may proceed. */
  #check(exchange: Exchange<Caller>, { isRead }: Route<Caller>, takesLines: boolean): Answer | undefined {
    const { service } = this
    const { bytesIn } = exchange
    if (this.exchanges.working >= (isRead ? requestsWaitingMax : writesWaitingMax)) return service.refusal('overloaded')
    exchange.caller = service.authenticate(seen.authorization)
    if (exchange.caller === undefined) return service.refusal('unauthorized', seen.authorization)
    const beyondRate = service.refuseBeyondRate(exchange.caller)
    if (beyondRate !== undefined) return beyondRate
    if (!takesLines && !isJson()) return service.refusal('unsupported_media_type')
    if (seen.contentEncoding !== '') return service.refusal('unsupported_encoding', seen.contentEncoding)
    if (takesLines) {
      if (bytesIn > this.uploads.bytesMax) return service.refusal('body_too_large', String(this.uploads.bytesMax))
      return this.uploads.areFull ? service.refusal('overloaded') : undefined
    }
    if (bytesIn > this.bodyBytesMax) return service.refusal('body_too_large')
    if (this.bodies.isTooMuch(bytesIn)) return service.refusal('overloaded')
    return undefined
  }

  /** Receives a body of known length. Inlined instead of using `#onPiece`: one closure fewer per request saves 2 %. */
  #receive(exchange: Exchange<Caller>, route: Route<Caller>): void {
    const { authorization } = seen
    exchange.res.onAborted(() => this.#onAbort(exchange))
    exchange.res.onData((piece, isLast) => {
      if (this.#drops(exchange, isLast)) return
      const isWhole = isLast && exchange.kept === undefined
      if (isWhole && route.isRead) return this.#handle(exchange, route, Buffer.from(piece))
      const body = this.bodies.add(exchange, piece, exchange.bytesIn)
      if (body === undefined) return this.#refuse(exchange, this.service.refusal('overloaded'))
      if (!isLast) return void this.#arriving.add(exchange)
      if (isWhole || this.#isStillKnown(exchange, authorization)) return this.#handleSoon(exchange, route, body)
      this.bodies.releaseBody(exchange)
      this.#refuse(exchange, this.service.refusal('unauthorized', authorization))
    })
  }

  /** Receives a chunked body. A rejected body is read and dropped unless endless or slow: most clients send everything before they read. */
  #receiveChunks(exchange: Exchange<Caller>, route: Route<Caller>, refusedBefore: Answer | undefined): void {
    const { authorization } = seen
    let refused = refusedBefore
    let body: Buffer | undefined
    let ended = false
    exchange.closing = true
    const answering = refused === undefined ? undefined : this.#refuseIfSlow(exchange, refused)
    this.#onPiece(exchange, (piece, isLast) => {
      if (ended) return
      exchange.bytesIn += piece.byteLength
      if (refused === undefined) {
        if (exchange.bytesIn > this.bodyBytesMax) refused = this.service.refusal('body_too_large')
        else body = this.bodies.add(exchange, piece, this.bodyBytesMax)
        refused ??= body === undefined ? this.service.refusal('overloaded') : undefined
        if (refused !== undefined) {
          body = undefined
          this.bodies.releaseBody(exchange)
        }
      }
      ended = isLast || this.#isEndless(exchange)
      if (!ended && refused === undefined) this.#arriving.add(exchange)
      if (!ended) return
      // Otherwise a flood of rejected requests would be kept until the timer fires.
      clearTimeout(answering)
      if (refused === undefined && exchange.bytesIn === 0) refused = this.service.refusal('empty_body')
      if (refused === undefined && !this.#isStillKnown(exchange, authorization))
        refused = this.service.refusal('unauthorized', authorization)
      if (refused === undefined) {
        // A copy: the buffer may be twice as large as the body, and only the body's size counts for a request in flight.
        const whole = Buffer.from(body ?? [])
        // The library keeps this function until the response ends.
        body = undefined
        return this.#handleSoon(exchange, route, whole)
      }
      this.bodies.releaseBody(exchange)
      this.exchanges.finishLater(exchange, refused)
    })
  }

  #refuseIfSlow(exchange: Exchange<Caller>, refused: Answer): NodeJS.Timeout {
    return setTimeout(() => this.exchanges.finishLater(exchange, refused), refusedMsMax).unref()
  }

  /** Looks up the caller again, because the keys may have changed while the body arrived. */
  #isStillKnown(exchange: Exchange<Caller>, authorization: string): boolean {
    exchange.caller = this.service.authenticate(authorization)
    return exchange.caller !== undefined
  }

  /** Handles the request after the parser has returned; not at all if later bytes made the library close the connection. */
  #handleSoon(exchange: Exchange<Caller>, route: Route<Caller>, body: Buffer): void {
    if (this.#whole.push({ exchange, route, body }) === 1) afterPoll(this.#handleWhole)
  }

  readonly #handleWhole = (): void => {
    const whole = this.#whole
    this.#whole = []
    for (const { exchange, route, body } of whole) {
      this.bodies.releaseBody(exchange)
      if (!exchange.done) this.#handle(exchange, route, body)
      else {
        exchange.endMs = performance.now()
        this.service.closed('bytes_behind', exchange)
      }
    }
  }

  #handle(exchange: Exchange<Caller>, route: Route<Caller>, body: Buffer): void {
    let answer: Answer | Promise<Answer> | undefined
    try {
      answer = route.handle(body, exchange.caller as Caller, exchange)
    } catch (error) {
      answer = this.service.answerForError(error)
    }
    if (answer instanceof Promise) this.exchanges.finishWhenKnown(exchange, answer)
    else if (answer !== undefined) this.exchanges.finish(exchange, answer)
  }

  /** Drops the body, because most clients read no response before they have sent everything. An endless body is cut off. */
  #refuseUnread(exchange: Exchange<Caller>, answer: Answer): void {
    if (this.#isEndless(exchange)) return this.#answerAndClose(exchange, answer)
    this.#onPiece(exchange, () => {})
    this.#refuse(exchange, answer)
  }

  /** Rejects a request while its body is arriving. The body counts as 0 bytes, because the announced bytes may never arrive. */
  #refuse(exchange: Exchange<Caller>, answer: Answer): void {
    exchange.bytesIn = 0
    this.exchanges.finish(exchange, answer)
  }

  #isEndless({ bytesIn }: Exchange<Caller>): boolean {
    return bytesIn > this.bodyBytesMax + bodyBytesDroppedMax
  }

  #refuseAndClose(exchange: Exchange<Caller>, refusal: Refusal): void {
    this.#answerAndClose(exchange, this.service.refusal(refusal))
  }

  #answerAndClose(exchange: Exchange<Caller>, answer: Answer): void {
    exchange.closing = true
    this.#answerUnread(exchange, answer)
  }

  /** Answers after the parser has returned. The body is dropped and counts as 0 bytes. */
  #answerUnread(exchange: Exchange<Caller>, answer: Answer): void {
    this.#onPiece(exchange, () => {})
    exchange.bytesIn = 0
    this.exchanges.finishLater(exchange, answer)
  }

  /** Drops the body, then answers and closes the connection. Only an endless body is answered earlier. */
  #answerAfterBody(exchange: Exchange<Caller>, answer: Answer): void {
    exchange.closing = true
    this.#onPiece(exchange, (piece, isLast) => {
      exchange.bytesIn += piece.byteLength
      if (isLast || this.#isEndless(exchange)) this.exchanges.finishLater(exchange, answer)
    })
  }

  /** Receives the body. Pieces go to `take` until the request is answered; later pieces are dropped. */
  #onPiece(exchange: Exchange<Caller>, take: (piece: ArrayBuffer, isLast: boolean) => void): void {
    exchange.res.onAborted(() => this.#onAbort(exchange))
    exchange.res.onData((piece, isLast) => {
      if (!this.#drops(exchange, isLast)) take(piece, isLast)
    })
  }

  #onAbort(exchange: Exchange<Caller>): void {
    this.exchanges.abort(exchange)
    this.bodies.releaseBody(exchange)
  }

  /** Notes the arrival of a piece of a body. @returns true if the request is already answered, so the piece is dropped */
  #drops(exchange: Exchange<Caller>, isLast: boolean): boolean {
    exchange.bodyEnded = isLast
    if (exchange.done) exchange.onDropped?.()
    return exchange.done
  }
}

function senderOf(res: HttpResponse, req: HttpRequest): Sender {
  const address = Buffer.from(res.getRemoteAddressAsText()).toString()
  return { authorization: seen.authorization, address, forwardedFor: req.getHeader('x-forwarded-for') }
}

/** True for a page with a body: the library cannot complete a response without a body (head.ts). */
function isPage({ status, body }: Answer): boolean {
  return status < 400 && body.length > 0
}

function headOf(answer: Answer): Answer {
  return { ...answer, body: '', bodyBytesUnsent: Buffer.byteLength(answer.body) }
}
