/**
 * The response to an upload; upload.ts runs the operations.
 *
 *     progress requested: status 200, with lines that list rejections and report progress while more of the body arrives
 *     otherwise, at the end: status 200 with such lines if everything was stored, or an error with the counts
 *
 * The response starts early only if the client requests progress and has not announced a small body. Servers in Go, and
 * therefore some proxies, drop up to 256 KiB of a body when they start the response. If the body is chunked, they then
 * continue with the bytes after the dropped ones, in the middle of another line.
 */
import type { Answer, Outlet, RouteHeaders, Stream } from '../../http/answer.js'
import { asksFor } from '../../web/accept.js'
import type { RefusedLine } from '../answers.js'
import { refuse } from '../context.js'
import { type Problem, problem } from '../problems.js'

const operationsPerReport = 1000

/**
 * Maximum unread UTF-16 units; beyond that, rejections are only counted. The rejections of one batch take fewer, so a client
 * that keeps reading gets all of them.
 */
const unreadUnitsMax = 2 * 1024 * 1024

/** Maximum rejections listed in an error: enough to find the mistake. */
const linesListedMax = 100

/** Bodies up to this size, such as those that our own clients send, need no progress report. */
const soonWholeBytesMax = 4 * 1024 * 1024

/** A client that accepts this type requests progress. */
const contentType = 'application/x-ndjson'

/** Proxies must not buffer the stream. */
const streamHeaders = [['x-accel-buffering', 'no']] as const

/** May precede any line of the response. */
const filler = Buffer.from(' ')

export class UploadAnswer implements Stream {
  readonly filler = filler
  readonly answer: Promise<Answer>
  #resolve: (answer: Answer) => void = () => {}
  /** True if the response consists of lines, unless an error ends the upload before the first result. */
  readonly #showsProgress: boolean
  readonly #beginsEarly: boolean
  /** The first rejections, for a response without lines. */
  readonly #listed: RefusedLine[] = []
  #durable = 0
  #refused = 0
  #unlisted = 0
  /** The number of operations in the last report. */
  #reported = 0
  #unsent = ''
  #outlet: Outlet | undefined
  #hasBegun = false
  #isBlocked = false
  /** Set when the upload is over, unless the client has disconnected. */
  #lastLine: string | undefined

  /** @param gone called when the body of the response has ended or the client has disconnected */
  constructor(
    { accept, contentLength }: Pick<RouteHeaders, 'accept' | 'contentLength'>,
    private readonly gone: () => void,
  ) {
    this.#showsProgress = asksFor(contentType, accept)
    this.#beginsEarly = this.#showsProgress && (contentLength === '' || Number(contentLength) > soonWholeBytesMax)
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get isStreaming(): boolean {
    return this.#hasBegun
  }

  begin(outlet: Outlet): void {
    this.#outlet = outlet
    this.#send()
  }

  onWritable(): void {
    this.#isBlocked = false
    this.#send()
  }

  onGone(): void {
    this.gone()
  }

  addDurable(): void {
    this.#durable++
    this.#reportThousand()
  }

  addRefused({ code, message }: Problem, line: number): void {
    this.#refused++
    if (!this.#showsProgress) {
      if (this.#listed.length < linesListedMax) this.#listed.push({ line, code, message })
    } else if (this.#isFull) this.#unlisted++
    else this.#say({ line, code, message })
    this.#reportThousand()
  }

  /** Reports the counts if they have changed. If too much is unread, leaves them to a later report. */
  report(): void {
    const [durable, refused] = [this.#durable, this.#refused]
    if (this.#isBlocked || this.#isFull || this.#reported === durable + refused) return
    this.#reported = durable + refused
    this.#say({ durable, refused })
  }

  flush(): void {
    if (!this.#beginsEarly || this.#unsent === '') return
    if (this.#hasBegun) return this.#send()
    this.#hasBegun = true
    this.#resolve({ status: 200, body: '', contentType, headers: streamHeaders, stream: this })
  }

  /** @param reason set if the rest was not applied */
  finish(reason: Problem | undefined): void {
    if (reason !== undefined && !this.#hasBegun && this.#durable + this.#refused === 0)
      return this.#resolve(refuse(reason))
    if (!this.#showsProgress && (reason !== undefined || this.#refused > 0)) return this.#resolve(this.#refusal(reason))
    const counts = { durable: this.#durable, refused: this.#refused, unlisted: this.#unlisted || undefined }
    this.#lastLine = lineOf(
      reason === undefined ? { done: true, ...counts } : { code: reason.code, message: reason.message, ...counts },
    )
    if (this.#hasBegun) return this.#send()
    const cause = reason === undefined ? {} : { cause: reason.code }
    this.#resolve({ status: 200, body: this.#unsent + this.#lastLine, contentType, ...cause })
  }

  #refusal(reason: Problem | undefined): Answer {
    const [durable, refused] = [this.#durable, this.#refused]
    const counts = { durable: String(durable), rejected: String(refused) }
    const lines = this.#listed.length === 0 ? undefined : this.#listed
    return refuse(reason ?? problem('upload_refused', counts), { durable, refused, lines })
  }

  /** Called when the client has disconnected: no one is waiting for the response. */
  abandon(): void {
    this.#resolve({ status: 200, body: '' })
  }

  get #isFull(): boolean {
    return this.#unsent.length > unreadUnitsMax
  }

  #reportThousand(): void {
    if ((this.#durable + this.#refused) % operationsPerReport === 0) this.report()
  }

  #say(line: object): void {
    this.#unsent += lineOf(line)
  }

  #send(): void {
    const outlet = this.#outlet
    if (this.#isBlocked || outlet === undefined) return
    if (this.#unsent !== '') {
      const text = this.#unsent
      this.#unsent = ''
      this.#isBlocked = !outlet.send(Buffer.from(text))
    }
    if (!this.#isBlocked && this.#lastLine !== undefined) outlet.end(Buffer.from(this.#lastLine))
  }
}

function lineOf(line: object): string {
  return `${JSON.stringify(line)}\n`
}
