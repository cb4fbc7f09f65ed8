/**
 * The answer to an upload: lines that list what was refused and say how far it is, sent while more arrives, if the client asks
 * for that, or all of them at the end. What is carried out is in upload.ts.
 *
 * The answer begins early only for a client that asks for it. Servers in Go, and so some proxies, drop up to 256 KiB of a body
 * in chunks once they begin the answer, and go on with what follows: with the rest of another line.
 */
import type { Answer, Outlet, Stream } from '../../http/answer.js'
import { refuse } from '../context.js'
import type { Problem } from '../problems.js'

/** After how many operations the answer says how far it is. */
const operationsPerReport = 1000

/**
 * Text that the client has not read, in UTF-16 units: further refusals are counted and not listed. More than those of the
 * operations that are carried out together, so that a client that reads gets all of them.
 */
const unreadUnitsMax = 2 * 1024 * 1024

const contentType = 'application/x-ndjson'

/** What a client accepts that asks for progress. */
const progress = /\bapplication\/x-ndjson\b/i

/** Proxies must not gather what is sent. */
const streamHeaders = [['x-accel-buffering', 'no']] as const

/** What may stand before a line of the answer. */
const filler = Buffer.from(' ')

export class UploadAnswer implements Stream {
  readonly filler = filler
  readonly answer: Promise<Answer>
  #resolve: (answer: Answer) => void = () => {}
  readonly #showsProgress: boolean
  #durable = 0
  #refused = 0
  #unlisted = 0
  /** Up to how many operations the answer has said how far it is. */
  #reported = 0
  #unsent = ''
  #outlet: Outlet | undefined
  #hasBegun = false
  #isBlocked = false
  /** Once the upload is over, unless its client has gone. */
  #lastLine: string | undefined

  /**
   * @param accept the request's header
   * @param gone called once the body of the answer has ended, or its client has gone
   */
  constructor(
    accept: string,
    private readonly gone: () => void,
  ) {
    this.#showsProgress = progress.test(accept)
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** Whether it is sent piece by piece, and its end is still to come. */
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
    if (this.#isFull) this.#unlisted++
    else this.#say({ line, code, message })
    this.#reportThousand()
  }

  /** Says how far it is, unless that is known or much is unread: the client then learns of a later state. */
  report(): void {
    const [durable, refused] = [this.#durable, this.#refused]
    if (this.#isBlocked || this.#isFull || this.#reported === durable + refused) return
    this.#reported = durable + refused
    this.#say({ durable, refused })
  }

  /** Sends what there is to say, if the client wants it now. */
  flush(): void {
    if (!this.#showsProgress || this.#unsent === '') return
    if (this.#hasBegun) return this.#send()
    this.#hasBegun = true
    this.#resolve({ status: 200, body: '', contentType, headers: streamHeaders, stream: this })
  }

  /** Ends the answer. @param reason why the rest was not carried out */
  finish(reason: Problem | undefined): void {
    const counts = { durable: this.#durable, refused: this.#refused, unlisted: this.#unlisted || undefined }
    if (reason !== undefined && !this.#hasBegun && this.#durable + this.#refused === 0)
      return this.#resolve(refuse(reason))
    this.#lastLine = lineOf(
      reason === undefined ? { done: true, ...counts } : { code: reason.code, message: reason.message, ...counts },
    )
    if (this.#hasBegun) this.#send()
    else this.#resolve({ status: 200, body: this.#unsent + this.#lastLine, contentType })
  }

  /** The client has gone: nobody waits for the answer. */
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
