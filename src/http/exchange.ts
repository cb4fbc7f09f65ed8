/**
 * Exchanges: an exchange is a request from its headers to its one response, which is never sent after the client has
 * disconnected. Nothing here reads a request; response.ts sends the responses.
 *
 * If a response is known immediately, it is sent within the library's handler, where the library corks it. Later
 * responses are queued and sent together from one immediate, each inside `res.cork`. The library has only one cork buffer,
 * and an awaiting function may resume while another connection uses it. Uncorked, a response would go out in ten pieces, and a
 * durable overwrite would cost 1.6 times as much (`npm run bench -- overwrite-256 --driver wrk`).
 */
import type { HttpResponse } from 'uWebSockets.js'
import { afterPoll, isAfterPoll } from '../base/after-poll.js'
import type { Answer, Answered, Ongoing, Route, RouteHeaders, Sender, Service } from './answer.js'
import type { Arriving } from './body.js'
import type { Receiver } from './closing.js'
import type { Responses } from './response.js'

/** One request and its state. After `done` is set, only the code that sends the response may access `res`. */
export interface Exchange<Caller> extends Answered<Caller>, Arriving, Receiver, Ongoing {
  startMs: number
  endMs: number
  /** The announced bytes; for a chunked body, or a body that no route takes, the bytes that have arrived. */
  bytesIn: number
  caller: Caller | undefined
  /** True from just before the response is sent, or after the client has disconnected. */
  done: boolean
  aborted: boolean
  /** Called just before the response is sent. */
  onAnswer: (() => void) | undefined
  headers: RouteHeaders | undefined
  sender: Sender | undefined
}

export class Exchanges<Caller extends object> {
  /** Exchanges whose handlers have returned a promise, the oldest first. */
  readonly #waiting = new Set<Exchange<Caller>>()
  #ready: { readonly exchange: Exchange<Caller>; readonly answer: Answer }[] = []
  #unanswered = 0
  #working = 0
  #workingBytes = 0

  constructor(
    private readonly service: Service<Caller>,
    private readonly responses: Responses,
  ) {}

  /** Requests that are not answered yet and whose clients are still connected. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** Requests whose handlers are still running, even if the client has disconnected. */
  get working(): number {
    return this.#working
  }

  get workingBytes(): number {
    return this.#workingBytes
  }

  open(res: HttpResponse, route: Route<Caller> | undefined, bytesIn: number): Exchange<Caller> {
    this.#unanswered++
    return {
      res,
      route,
      bytesIn,
      closing: false,
      libraryCloses: false,
      continued: false,
      originHeaders: undefined,
      startMs: performance.now(),
      endMs: 0,
      caller: undefined,
      done: false,
      aborted: false,
      headers: undefined,
      sender: undefined,
      onAborted: undefined,
      kept: undefined,
      keptBytes: 0,
      bodyEnded: false,
      onDropped: undefined,
      onAnswer: undefined,
    }
  }

  /** Sends before it returns, unless `done` is set. Must be called within the library's handler or in work given to `afterPoll`. */
  finish(exchange: Exchange<Caller>, answer: Answer): void {
    if (exchange.done) return
    exchange.endMs = performance.now()
    if (isAfterPoll()) exchange.res.cork(() => this.#send(exchange, answer))
    else this.#send(exchange, answer)
  }

  /** Sends the response, if any, after the parser has returned. If the client has disconnected, calls a stream's `onGone`. */
  finishLater(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    this.#waiting.delete(exchange)
    if (exchange.done) return answer?.stream?.onGone()
    if (answer === undefined) return
    if (this.#ready.push({ exchange, answer }) === 1) afterPoll(this.#sendReady)
  }

  finishWhenKnown(exchange: Exchange<Caller>, answer: Promise<Answer>): void {
    // The time that the body took to arrive counts neither towards the time limit of the request nor towards its duration.
    exchange.startMs = performance.now()
    this.#waiting.add(exchange)
    this.finishWhenDone(exchange, answer)
  }

  /** Unlike `finishWhenKnown`, has no time limit: for a body that is executed as it arrives. */
  finishWhenDone(exchange: Exchange<Caller>, answer: Promise<Answer>): void {
    this.#working++
    this.#workingBytes += exchange.bytesIn
    answer.then(
      (known) => this.#settle(exchange, known),
      (error: unknown) => this.#settle(exchange, this.service.answerForError(error)),
    )
  }

  /** Called when the client has disconnected. */
  abort(exchange: Exchange<Caller>): void {
    if (!exchange.done) this.#unanswered--
    exchange.done = exchange.aborted = true
    this.#waiting.delete(exchange)
    exchange.onAborted?.()
  }

  /** Cancels requests that started to wait before `beforeMs` of performance.now(), and answers them with `timed_out`. */
  expire(beforeMs: number): void {
    for (const exchange of this.#waiting) {
      if (exchange.startMs > beforeMs) break
      exchange.aborted = true
      exchange.onAborted?.()
      this.finishLater(exchange, this.service.refusal('timed_out'))
    }
  }

  readonly #sendReady = (): void => {
    const ready = this.#ready
    this.#ready = []
    const endMs = performance.now()
    for (const { exchange, answer } of ready) {
      if (exchange.done) {
        answer.stream?.onGone()
        continue
      }
      exchange.endMs = endMs
      exchange.res.cork(() => this.#send(exchange, answer))
    }
  }

  #send(exchange: Exchange<Caller>, answer: Answer): void {
    exchange.done = true
    this.#unanswered--
    exchange.onAnswer?.()
    // Only reads are rejected here: the client must learn of a change.
    const isRefused = exchange.route?.isRead !== false && !this.responses.hasRoom(answer)
    const sent = isRefused ? this.service.refusal('overloaded') : answer
    if (sent.waitedMs !== undefined) exchange.startMs += sent.waitedMs
    this.responses.send(exchange, sent)
    this.service.answered(exchange, sent)
  }

  #settle(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    this.#working--
    this.#workingBytes -= exchange.bytesIn
    this.finishLater(exchange, answer)
  }
}
