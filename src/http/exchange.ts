/**
 * Exchanges: each a request from its headers to its one answer, which is never given after the client has gone. Nothing here
 * reads a request; bytes go out through the `send` that is handed in.
 *
 * An answer that is known at once goes out within the library's handler. Later ones are gathered and go out together from an
 * immediate: the library gathers what is written to one connection at a time, and what a promise sets off may run while that
 * is another one. Without this, an answer goes out in ten pieces and a durable overwrite costs 1.6 times as much
 * (`npm run bench -- overwrite-256 --driver wrk`).
 */
import type { HttpResponse } from 'uWebSockets.js'
import type { Answer, Answered, Route, Service } from './answer.js'
import type { Arriving } from './body.js'
import type { Incoming } from './linger.js'

/** One request. What is true of it changes; `res` must not be touched once it is done. */
export interface Exchange<Caller> extends Answered<Caller>, Arriving, Incoming {
  readonly res: HttpResponse
  startMs: number
  /** What its headers announce; of a chunked body, or one that no route takes, what has come so far. */
  bytesIn: number
  /** Whether the connection ends with its answer: what follows on it cannot be trusted. */
  closing: boolean
  /** Whether a 100 has been sent, which to the library was its status line. */
  continued: boolean
  waited: boolean
  caller: Caller | undefined
  /** The client has gone, or the answer has been sent. */
  done: boolean
  cancelled: boolean
}

export interface Exchanges<Caller> {
  open(res: HttpResponse, route: Route<Caller> | undefined, bytesIn: number): Exchange<Caller>
  /** Answers within the library's handler. */
  finish(exchange: Exchange<Caller>, answer: Answer): void
  /** Answers soon, once the parser has let go of what came; undefined for no answer. */
  finishLater(exchange: Exchange<Caller>, answer: Answer | undefined): void
  /** Answers when the promise is settled. */
  finishWhenKnown(exchange: Exchange<Caller>, answer: Promise<Answer>): void
  /** The client has gone. */
  abort(exchange: Exchange<Caller>): void
  /** Gives up those that wait since before `beforeMs`, of performance.now(). */
  expire(beforeMs: number): void
  /** Requests from their headers to their answer, or to the end of their client. */
  readonly unanswered: () => number
  /** Requests whose handlers still work, whether or not their clients have gone meanwhile. */
  readonly working: () => number
  /** The bodies of those, in bytes. */
  readonly workingBytes: () => number
}

/**
 * @param timedOneIn of so many requests that are answered at once, one is timed
 * @param send sends an answer whole; whoever calls here sees to it that the library gathers it
 */
export function createExchanges<Caller extends object>(
  service: Service<Caller>,
  timedOneIn: number,
  send: (exchange: Exchange<Caller>, answer: Answer) => void,
): Exchanges<Caller> {
  const waiting = new Set<Exchange<Caller>>()
  let ready: { readonly exchange: Exchange<Caller>; readonly answer: Answer }[] = []
  let requests = 0
  let unanswered = 0
  let working = 0
  let workingBytes = 0

  function finish(exchange: Exchange<Caller>, answer: Answer): void {
    if (exchange.done) return
    exchange.done = true
    unanswered--
    send(exchange, answer)
    service.answered(exchange, answer)
  }

  function finishLater(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    waiting.delete(exchange)
    if (exchange.done || answer === undefined) return
    if (ready.push({ exchange, answer }) === 1) setImmediate(sendReady)
  }

  function sendReady(): void {
    const known = ready
    ready = []
    for (const { exchange, answer } of known) {
      if (!exchange.done) exchange.res.cork(() => finish(exchange, answer))
    }
  }

  function settle(exchange: Exchange<Caller>, answer: Answer | undefined): void {
    working--
    workingBytes -= exchange.bytesIn
    finishLater(exchange, answer)
  }

  return {
    finish,
    finishLater,
    open(res, route, bytesIn) {
      unanswered++
      const startMs = ++requests % timedOneIn === 0 ? performance.now() : NaN
      return {
        res,
        route,
        bytesIn,
        closing: false,
        continued: false,
        startMs,
        caller: undefined,
        waited: false,
        done: false,
        cancelled: false,
        kept: undefined,
        keptBytes: 0,
        bodyEnded: false,
        onDropped: undefined,
      }
    },
    finishWhenKnown(exchange, answer) {
      exchange.waited = true
      if (Number.isNaN(exchange.startMs)) exchange.startMs = performance.now()
      waiting.add(exchange)
      working++
      workingBytes += exchange.bytesIn
      answer.then(
        (known) => settle(exchange, known),
        (error: unknown) => settle(exchange, service.answerForError(error)),
      )
    },
    abort(exchange) {
      if (!exchange.done) unanswered--
      exchange.done = exchange.cancelled = true
      waiting.delete(exchange)
    },
    expire(beforeMs) {
      for (const exchange of waiting) {
        if (exchange.startMs > beforeMs) break
        exchange.cancelled = true
        finishLater(exchange, service.refusal('timed_out'))
      }
    },
    unanswered: () => unanswered,
    working: () => working,
    workingBytes: () => workingBytes,
  }
}
