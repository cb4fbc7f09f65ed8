/**
 * Responses: how each body is sent, by `end` or `tryEnd` (server.ts says why). Heads are in head.ts, what clients have
 * not read in unread.ts, answers that end their connection in closing.ts. Requests and their state are in exchange.ts,
 * which ensures that each is answered at most once, and never after its client has gone.
 *
 * Connections whose clients have read nothing for longest are closed first: after a while, sooner if much is unread, at
 * once if there is no room. So that nobody who reads is closed for the sake of others, pages end early by the room that
 * is left (api/context.ts), and exchange.ts refuses a read whose answer does not fit.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesAlwaysMax } from '../settings/limits.js'
import type { Answer } from './answer.js'
import type { Closing, Receiver } from './closing.js'
import { writeHead } from './head.js'
import { openStream } from './streams.js'
import { bytesOf } from './unread.js'

/** Answers up to this size may be handed to the library without knowing whether the client reads them. */
const answerBytesSmallMax = 2 * 1024

/** One in this many small answers checks, at some cost, whether the client still reads. */
const answersPerProbe = 8

export class Responses {
  constructor(private readonly closing: Closing) {}

  /** True if the answer fits although its client reads nothing, or is so small that it is always sent. */
  hasRoom({ body }: Answer): boolean {
    const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
    return bytes <= answerBytesAlwaysMax || bytes <= this.closing.rests.bytesFree
  }

  /** Must be called within the library's handler or a cork, so that everything is sent in one piece. */
  send(receiver: Receiver, answer: Answer): void {
    const { body, stream } = answer
    if (stream !== undefined) return openStream(this.closing, receiver, answer, stream)
    const isSmall = body.length <= answerBytesSmallMax
    if (receiver.closing || this.closing.isDraining) return this.closing.sendLast(receiver, answer, isSmall)
    writeHead(receiver, answer)
    if (isSmall && Math.random() > 1 / answersPerProbe) receiver.res.end(body)
    else this.#sendBounded(receiver.res, bytesOf(body))
  }

  /** Sends a body, and keeps what the client does not take at once. */
  #sendBounded(res: HttpResponse, body: Uint8Array): void {
    const { rests } = this.closing
    const [taken, done] = res.tryEnd(body, body.length)
    if (taken || done) return
    const rest = rests.keep(res, body)
    rest.sendMore = () => rests.sendPieces(rest, body.length)
    res.onWritable(rest.sendMore)
  }
}
