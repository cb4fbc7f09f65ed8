/**
 * Sends the bodies of responses, with `end` or `tryEnd` (server.ts explains why). head.ts writes heads, unread.ts keeps
 * unread bodies, and closing.ts sends responses that close their connection. exchange.ts keeps the state of requests, and
 * ensures that each request is answered at most once, and never after its client has disconnected.
 *
 * The client that has gone longest without reading is disconnected first: after a while, sooner if many bytes are unread,
 * or immediately if there is no room. To keep clients that do read, pages are cut short to fit the remaining room
 * (api/context.ts), and exchange.ts rejects a read whose response does not fit.
 */
import type { HttpResponse } from 'uWebSockets.js'
import { answerBytesAlwaysMax } from '../settings/limits.js'
import type { Answer } from './answer.js'
import type { Closing, Receiver } from './closing.js'
import { writeHead } from './head.js'
import { openStream } from './streams.js'
import { bytesOf } from './unread.js'

/** Responses up to this size may be handed to the library without a check that the client reads. */
const answerBytesSmallMax = 2 * 1024

/** One in this many small responses checks, at some cost, whether the client still reads. */
const answersPerProbe = 8

export class Responses {
  constructor(private readonly closing: Closing) {}

  /** True if the response fits even if its client reads nothing, or is so small that it is always sent. */
  hasRoom({ body }: Answer): boolean {
    const bytes = Buffer.byteLength(body)
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

  /** Sends a body, and keeps the bytes that the client does not take immediately. */
  #sendBounded(res: HttpResponse, body: Uint8Array): void {
    const { rests } = this.closing
    const [taken, done] = res.tryEnd(body, body.length)
    if (taken || done) return
    const rest = rests.keep(res, body)
    rest.sendMore = () => rests.sendPieces(rest, body.length)
    res.onWritable(rest.sendMore)
  }
}
