/**
 * POST /topics/batch with lines (application/x-ndjson): one operation per line, each run on its own while more lines arrive.
 *
 *     pieces of the body → lines → a batch of operations → store.write → counts and rejections (upload-answer.ts)
 *
 * While one batch is being written, the next is read; when that batch is full, nothing more is taken from the connection. A
 * partial batch is written as soon as no other batch is being written, so a line from a slow source never waits for more
 * lines. Lines run in order, so after a lost connection, the counts tell the client at which line to resume.
 */
import type { Access } from '../../auth/access.js'
import { Lines, TooLong } from '../../base/lines.js'
import type { PacedBound } from '../../base/paced-bound.js'
import { type Slice, waitForSlice } from '../../base/time-slices.js'
import type { Answer, Inlet, Ongoing, Upload as ReceivedUpload, UploadRefusal } from '../../http/answer.js'
import type { WriteOperation, WriteOutcome } from '../../store/topics.js'
import { otherBodyProblem, parseLine } from '../bodies/parse-batch.js'
import type { ApiContext } from '../context.js'
import { isProblem, type Problem, problem } from '../problems.js'
import { type EachContext, writeEach } from './each.js'
import { UploadAnswer } from './upload-answer.js'

/**
 * Maximum lines per batch. For random paths in a large tree, an operation costs half as much CPU as in batches of
 * 1,000, because operations share pages. Other writes wait about 20 ms. If writes are slow, batches are smaller.
 */
export const linesAtOnceMax = 4000

/**
 * Maximum unapplied bytes of a worker's uploads, in addition to one line. Over a network, a few MiB arrive before a
 * connection is paused. A client on the same machine can send more than 100 MiB before that (http/uploads.ts).
 */
const keptBytesMax = 256 * 1024 * 1024

/** Shared by the uploads of a worker. */
export interface UploadContext extends EachContext {
  /** Maximum bytes of a line, and of the lines of one batch. */
  readonly lineBytesMax: number
  readonly uploadBytesMax: number
  /** Unapplied bytes of all uploads. */
  readonly kept: { bytes: number }
  readonly linesAtOnce: PacedBound
  readonly findCaller: ApiContext['findCaller']
  /** The problem for an error in the store or in our code. */
  readonly problemFor: (error: unknown) => Problem
}

interface Batch {
  readonly operations: (WriteOperation | Problem)[]
  /** The line number of each operation. */
  readonly numbers: number[]
  /** Includes blank lines, which are not operations. */
  lines: number
  bytes: number
}

export class Upload implements ReceivedUpload {
  readonly #lines: Lines
  readonly #answer: UploadAnswer
  readonly #authorization: string
  /** This upload's share of `kept`. */
  #keptBytes = 0
  #batch: Batch = newBatch()
  #isWriting = false
  /** True after the first line that is not blank. */
  #hasBegun = false
  #isEnded = false
  /** The reason why the rest is not applied. */
  #problem: Problem | undefined
  /** True while a read is scheduled. */
  #isDue = false
  #isOver = false

  constructor(
    private readonly context: UploadContext,
    private readonly inlet: Inlet,
    ongoing: Ongoing,
  ) {
    const { accept = '', contentLength = '', authorization = '' } = ongoing.headers ?? {}
    this.#lines = new Lines(context.lineBytesMax)
    this.#answer = new UploadAnswer({ accept, contentLength }, () => this.#leave())
    this.#authorization = authorization
    ongoing.onAborted = () => {
      this.#leave()
      this.#answer.abandon()
    }
  }

  get answer(): Promise<Answer> {
    return this.#answer.answer
  }

  take(piece: Uint8Array): void {
    this.#lines.add(piece)
    this.#countKept()
    if (this.context.kept.bytes > keptBytesMax + this.context.lineBytesMax) this.#stop(problem('overloaded'))
    this.#goOnSoon()
  }

  end(refusal?: UploadRefusal): void {
    if (refusal === undefined) {
      this.#isEnded = true
      this.#lines.end()
    } else if (!this.#isEnded || this.#lines.bytes > 0 || this.#batch.operations.length > 0) {
      // Otherwise every line has been read, so nothing is left to reject.
      const bytes = String(this.context.uploadBytesMax)
      this.#stop(refusal === 'body_too_large' ? problem(refusal, { bytes }) : problem(refusal))
    }
    this.#goOnSoon()
  }

  get #isFull(): boolean {
    const { lines, bytes } = this.#batch
    return lines >= this.context.linesAtOnce.value || bytes >= this.context.lineBytesMax
  }

  #goOnSoon(): void {
    if (this.#isDue) return
    this.#isDue = true
    void waitForSlice().then((slice) => {
      this.#isDue = false
      this.#goOn(slice)
      if (this.#isOver) return
      if (!this.#isWriting && !this.#isDue) this.#answer.report()
      this.#answer.flush()
    })
  }

  /** Reads the lines that have arrived and starts to write them, unless a write is in progress. */
  #goOn(slice: Slice): void {
    if (this.#isOver) return
    if (!this.#read(slice)) return this.#goOnSoon()
    if (this.#isWriting) return
    if (this.#batch.operations.length > 0) {
      this.#write()
      this.#goOnSoon()
    } else if (this.#isFull) {
      // Only blank lines; there may be millions.
      this.#batch = newBatch()
      this.#goOnSoon()
    } else if (this.#isEnded) this.#finish()
    // Blank lines alone must not keep an upload open if its key is no longer valid.
    else if (this.#caller() === undefined) this.#refuse()
  }

  /** @returns false if the slice is over, so lines that fit in the batch may still be unread */
  #read(slice: Slice): boolean {
    const batch = this.#batch
    while (this.#problem === undefined && !this.#isFull) {
      if (slice.isOver()) break
      const line = this.#lines.next()
      if (line === undefined) {
        this.inlet.resume()
        this.#countKept()
        return true
      }
      const isTooLong = line instanceof TooLong
      const operation = isTooLong
        ? problem('line_too_long', { bytes: String(this.context.lineBytesMax) })
        : parseLine(line)
      batch.lines++
      if (!isTooLong) batch.bytes += line.length
      if (operation === undefined) continue
      if (!this.#hasBegun && isProblem(operation)) {
        const mistake = otherBodyProblem(isTooLong ? line.start : line, !isTooLong)
        if (mistake !== undefined) {
          this.#stop(mistake)
          return true
        }
      }
      this.#hasBegun = true
      batch.operations.push(operation)
      batch.numbers.push(this.#lines.number)
    }
    this.#countKept()
    return this.#problem !== undefined || this.#isFull
  }

  #write(): void {
    const { problemFor, linesAtOnce } = this.context
    const access = this.#caller()
    if (access === undefined) return this.#refuse()
    const { operations, numbers, lines } = this.#batch
    const bound = linesAtOnce.value
    const beganMs = performance.now()
    const took = (): void => linesAtOnce.took(performance.now() - beganMs, lines >= bound, bound)
    this.#batch = newBatch()
    this.#isWriting = true
    writeEach(this.context, operations, access).then(
      (outcomes) => {
        took()
        this.#written(outcomes, numbers)
      },
      (error: unknown) => {
        took()
        this.#isWriting = false
        this.#stop(problemFor(error))
        this.#goOnSoon()
      },
    )
  }

  /** Looks up the caller's key again; undefined if it is no longer known. */
  #caller(): Access | undefined {
    return this.context.findCaller(this.#authorization)
  }

  #refuse(): void {
    this.#stop(problem('unauthorized', { found: 'its token is no longer valid' }))
    this.#finish()
  }

  #written(outcomes: readonly (WriteOutcome | Problem)[], numbers: readonly number[]): void {
    this.#isWriting = false
    for (const [index, outcome] of outcomes.entries()) {
      if (isProblem(outcome)) this.#answer.addRefused(outcome, numbers[index] ?? 0)
      else this.#answer.addDurable()
    }
    this.#goOnSoon()
  }

  /** Takes no more lines. The batch being written is still counted. */
  #stop(reason: Problem): void {
    this.#problem ??= reason
    this.#isEnded = true
    this.#forget()
  }

  #finish(): void {
    this.#isOver = true
    this.#forget()
    this.#answer.finish(this.#problem)
    if (!this.#answer.isStreaming) this.inlet.close()
    // The response was counted when it started, as a success.
    else if (this.#problem !== undefined) this.context.countRefused(this.#problem.code)
  }

  /** Called when the client has disconnected or the response has ended. */
  #leave(): void {
    this.#isOver = true
    this.#forget()
    this.inlet.close()
  }

  #forget(): void {
    this.#batch = newBatch()
    this.#lines.clear()
    this.#countKept()
    this.inlet.drop()
  }

  #countKept(): void {
    const { bytes } = this.#lines
    this.context.kept.bytes += bytes - this.#keptBytes
    this.#keptBytes = bytes
  }
}

function newBatch(): Batch {
  return { operations: [], numbers: [], lines: 0, bytes: 0 }
}
