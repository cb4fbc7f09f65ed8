/**
 * Exchanges: each is a request from its headers to its one answer, which is never sent after the client has gone.
 * Nothing here reads a request; response.ts sends the answers.
 *
 * An answer that is known at once is sent within the library's handler, where the library corks it. Later ones are
 * queued and sent together from one immediate, each inside `res.cork`: the library has one cork buffer, and a
 * promise may resume while another connection holds it. Without this, an answer goes out in ten pieces and a durable
 * overwrite costs 1.6 times as much (`npm run bench -- overwrite-256 --driver wrk`).
 */
import type { HttpResponse } from 'uWebSockets.js'
import { afterPoll, isAfterPoll } from '../base/after-poll.js'
import type { Answer, Answered, Ongoing, Route, RouteHeaders, Sender, Service } from './answer.js'
import type { Arriving } from './body.js'
import type { Receiver } from './closing.js'
import type { Responses } from './response.js'

/** One request and its state. `res` must not be touched once it is done. */
export interface Exchange<Caller> extends Answered<Caller>, Arriving, Receiver, Ongoing {
  startMs: number
  endMs: number
  /** The announced bytes; for a chunked body, or one that no route takes, the bytes that have arrived. */
  bytesIn: number
  caller: Caller | undefined
  /** The client has gone, or the answer has been sent. */
  done: boolean
  aborted: boolean
  /** Called just before the answer is sent. */
  onAnswer: (() => void) | undefined
  headers: RouteHeaders | undefined
  sender: Sender | undefined
}

export class Exchanges<Caller extends object> {
  /** Exchanges whose handlers have answered with a promise, the oldest first. */
  readonly #waiting = new Set<Exchange<Caller>>()
  #ready: { readonly exchange: Exchange<Caller>; readonly answer: Answer }[] = []
  #unanswered = 0
  #working = 0
  #workingBytes = 0

  constructor(
    private readonly service: Service<Caller>,
    private readonly responses: Responses,
  ) {}

  /** Requests from their headers to their answer, or until their client has gone. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** Requests whose handlers are still at work, whether or not their clients are still there. */
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

  /** Sends before it returns, unless done. Must be called within the library's handler or in work after the poll. */
  finish(exchange: Exchange<Caller>, answer: Answer): void {
    if (exchange.done) return
    exchange.endMs = performance.now()
    if (isAfterPoll()) exchange.res.cork(() => this.#send(exchange, answer))
    else this.#send(exchange, answer)
  }

  /** Sends the answer, if any, after the parser has returned. An unsent stream learns that its client has gone. */
  finishLater(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    this.#waiting.delete(exchange)
    if (exchange.done) return answer?.stream?.onGone()
    if (answer === undefined) return
    if (this.#ready.push({ exchange, answer }) === 1) afterPoll(this.#sendReady)
  }

  finishWhenKnown(exchange: Exchange<Caller>, answer: Promise<Answer>): void {
    // What its body took to arrive is its client's time: neither a reason to expire it nor part of what is measured.
    exchange.startMs = performance.now()
    this.#waiting.add(exchange)
    this.finishWhenDone(exchange, answer)
  }

  /** Unlike `finishWhenKnown` without a time limit: for a body that is carried out as it arrives. */
  finishWhenDone(exchange: Exchange<Caller>, answer: Promise<Answer>): void {
    this.#working++
    this.#workingBytes += exchange.bytesIn
    answer.then(
      (known) => this.#settle(exchange, known),
      (error: unknown) => this.#settle(exchange, this.service.answerForError(error)),
    )
  }

  /** The client has gone. */
  abort(exchange: Exchange<Caller>): void {
    if (!exchange.done) this.#unanswered--
    exchange.done = exchange.aborted = true
    this.#waiting.delete(exchange)
    exchange.onAborted?.()
  }

  /** Cancels requests that have waited since before `beforeMs` of performance.now(), and answers them `timed_out`. */
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
    // Only a read: if something was changed, the client must learn of it.
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
