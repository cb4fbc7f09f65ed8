/**
 * A worker's, or a tool's, end of the connection to the writer. It lasts as long as the process, across the ends of
 * writers: requests are numbered and kept until they are answered, and a new writer first says which of them its
 * predecessor has committed. So each is carried out exactly once, and a caller only notices a slower answer.
 *
 * The requests of one turn of the event loop share a frame.
 */
import { strict as assert } from 'node:assert'
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { turnMs } from '../../base/turn-clock.js'
import { commitDeadlineMs, writerClientGoneMs } from '../../settings/limits.js'
import type { RecordChange } from '../core/write/records.js'
import type { LoggedRecord } from '../engine.js'
import { StoreError } from '../errors.js'
import { Followers } from '../followers.js'
import type { BatchResult, WriteOperation } from '../topics.js'
import type { Writing } from '../writing.js'
import { ByteReader, ByteWriter } from './bytes.js'
import { beginFrame, readFrames, takeFrame } from './frames.js'
import {
  type Outcome,
  protocolVersion,
  readNotice,
  readOutcome,
  resultOf,
  writeChange,
  writeOperations,
} from './wire.js'

/**
 * How long a worker waits for any answer of a writer before it gives its oldest requests up: longer than a writer may hang,
 * so that the next one can still answer.
 */
const writerAnswerMsMax = commitDeadlineMs + 2000

/**
 * Writers that a request is sent to, one after the death of the other, before its outcome is reported as unknown: it may be
 * what they die of.
 */
export const writerSendsMax = 3

assert(writerClientGoneMs > writerAnswerMsMax)

/** Between two attempts to connect: a writer that ended is replaced within some 50 ms. */
const reconnectMs = 10

/** Between two checks for requests that nobody answers. */
const deadlineCheckMs = 500

/** A check this late means that this process was suspended or starved. */
const lateCheckMs = 2 * deadlineCheckMs

/** Bytes of the random name of this end, which receipts are kept under. */
const clientBytes = 8

/** A frame of so many bytes is sent before the end of its turn. */
const frameBytesFull = 1024 * 1024

/** Room for the numbers that begin a frame, and for the client's name. */
const headBytes = 64

/** Who waits for the answer to a request. */
type Caller =
  | { readonly operations: readonly WriteOperation[]; readonly resolve: (result: BatchResult) => void }
  | { readonly operations: undefined; readonly resolve: (hasChanged: boolean) => void }

/** A request without an answer. */
interface Pending {
  readonly number: number
  readonly sinceMs: number
  readonly caller: Caller
  readonly reject: (reason: Error) => void
  /** Its bytes in `frame`. */
  readonly start: number
  readonly end: number
  /** Undefined until the end of its turn. */
  frame: Buffer | undefined
  /** How often it was sent over a connection that the writer ended, perhaps because of it; or is, over the present one. */
  sends: number
}

export class WriterLink implements Writing {
  readonly #client = randomBytes(clientBytes).toString('hex')
  readonly #out = new ByteWriter()
  /** In the order of their numbers. */
  readonly #pending = new Map<number, Pending>()
  /** Those of this turn, whose frame is still growing. */
  #turn: Pending[] = []
  #lastNumber = 0
  #socket: Socket | undefined
  /** Whether the writer has said what it knows of this end, so that requests can be sent. */
  #isGreeted = false
  #isClosed = false
  /** Whether the end of this turn will send its frame. */
  #endsSoon = false
  /** Whether a frame was reported as unreadable, and no answer has come since. */
  #isReported = false
  /** Whether it was this end that ended the last connection. */
  #hasEndedConnection = false
  /** As the writer last said. */
  #lastTaken = 0
  #progressAtMs = 0
  #checkedAtMs = performance.now()
  #onDrained: (() => void)[] = []
  readonly #deadlines: NodeJS.Timeout
  readonly #followers = new Followers<LoggedRecord | undefined>(() => this.#sayWatching())

  /**
   * Connects, now and whenever the connection ends.
   *
   * @param connect begins a connection to the writer's socket
   * @param onUnusable called when the writer is of a build that cannot serve this process
   * @param onUnreadable called with the defect when something that the writer sent cannot be taken, and then not again
   *   before an answer was
   */
  constructor(
    private readonly connect: () => Socket,
    private readonly onUnusable: (reason: Error) => void,
    private readonly onUnreadable: (reason: Error) => void = () => {},
  ) {
    this.#deadlines = setInterval(() => this.#rejectLate(), deadlineCheckMs)
    this.#deadlines.unref()
    this.#reconnect()
  }

  /** An arrow function in a field: bound, so that the store has it as its own without a wrapper. */
  readonly write = (operations: readonly WriteOperation[], isAtomic = true): Promise<BatchResult> =>
    new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedError())
      const start = this.#append((out) => writeOperations(out, operations, isAtomic))
      this.#keep(start, { operations, resolve }, reject)
    })

  /** Has a change made. @returns whether it changed anything */
  change(change: RecordChange): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedError())
      const start = this.#append((out) => writeChange(out, change))
      this.#keep(start, { operations: undefined, resolve }, reject)
    })
  }

  readonly follow: Writing['follow'] = (onGrown) => this.#followers.add(onGrown)

  /** Refuses further requests; resolves once all others are answered. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#pending.size > 0) await new Promise<void>((resolve) => this.#onDrained.push(resolve))
    clearInterval(this.#deadlines)
    this.#socket?.destroy()
  }

  /** Appends a request to the frame of this turn. @returns where it begins there */
  #append(encode: (out: ByteWriter) => void): number {
    const out = this.#out
    if (out.length > frameBytesFull) this.#endFrame()
    if (out.length === 0) {
      this.#beginFrame()
    }
    const start = out.length
    try {
      encode(out)
    } catch (error) {
      // A defect of the caller, which must not reach the requests of others.
      out.cut(start)
      throw error
    }
    return start
  }

  /** Tells the writer, by a frame without requests, whether the log is watched from now on. */
  #sayWatching(): void {
    if (this.#out.length > 0) this.#endFrame()
    this.#beginFrame()
  }

  #beginFrame(): void {
    this.#writeHead(this.#out, this.#lastNumber + 1)
    this.#endSoon()
  }

  /** Begins a frame of requests, of which this is the number of the first. */
  #writeHead(out: ByteWriter, first: number): void {
    beginFrame(out)
    out.double(this.#answeredBelow(first))
    out.double(first)
    out.byte(this.#followers.isWatching ? 1 : 0)
  }

  #endSoon(): void {
    if (this.#endsSoon) return
    this.#endsSoon = true
    setImmediate(() => {
      this.#endsSoon = false
      if (this.#out.length > 0) this.#endFrame()
    })
  }

  #keep(start: number, caller: Caller, reject: (reason: Error) => void): void {
    const number = ++this.#lastNumber
    const sinceMs = turnMs()
    if (this.#pending.size === 0) this.#progressAtMs = sinceMs
    const pending = { number, sinceMs, caller, reject, start, end: this.#out.length, frame: undefined, sends: 0 }
    this.#pending.set(number, pending)
    this.#turn.push(pending)
  }

  /** The number of the last request of which it and all before it are answered. */
  #answeredBelow(next: number): number {
    const [oldest = next] = this.#pending.keys()
    return oldest - 1
  }

  #endFrame(): void {
    const frame = takeFrame(this.#out)
    const turn = this.#turn
    this.#turn = []
    for (const pending of turn) {
      pending.frame = frame
      if (this.#isGreeted) pending.sends++
    }
    if (this.#isGreeted) this.#socket?.write(frame)
  }

  /** Connects again, and keeps trying until it succeeds, or until the link is closed and nothing is pending. */
  #reconnect(): void {
    if (this.#isClosed && this.#pending.size === 0) return
    this.#isGreeted = false
    let socket: Socket
    try {
      socket = this.connect()
    } catch {
      // No descriptor is free, or the directory is missing for a moment.
      setTimeout(() => this.#reconnect(), reconnectMs)
      return
    }
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isGreeted = false
      setTimeout(() => this.#reconnect(), reconnectMs)
    })
    socket.on('connect', () => this.#greet(socket))
    let isFirst = true
    const take = (frame: Buffer): void => {
      if (!isFirst) return this.#takeFrame(frame)
      isFirst = false
      this.#onGreeting(socket, new ByteReader(frame))
    }
    readFrames(socket, take, this.#report)
  }

  readonly #report = (reason: Error): void => {
    if (!this.#isReported) this.onUnreadable(reason)
    this.#isReported = true
    this.#hasEndedConnection = true
  }

  #greet(socket: Socket): void {
    const out = new ByteWriter(headBytes)
    beginFrame(out)
    out.uint32(protocolVersion)
    out.text(this.#client)
    out.double(this.#answeredBelow(this.#lastNumber + 1))
    out.byte(1)
    out.double(this.#lastNumber)
    socket.write(takeFrame(out))
  }

  /** The writer's first frame: what it has taken from this end, and the outcomes that may not have arrived. */
  #onGreeting(socket: Socket, from: ByteReader): void {
    const version = from.uint32()
    if (version !== protocolVersion) {
      socket.destroy()
      return this.#giveUp(`the writer speaks version ${version} of their protocol, and this process ${protocolVersion}`)
    }
    const lastTaken = from.double()
    this.#takeOutcomes(from)
    // From a writer that has replaced another, and has taken nothing yet, an answer may be expected.
    if (lastTaken === 0) this.#progressAtMs = performance.now()
    this.#isGreeted = true
    this.#sendAgain(lastTaken)
    if (this.#followers.isWatching) this.#sayWatching()
  }

  /** Ends for good: no writer of this build is to be expected. */
  #giveUp(problem: string): void {
    const reason = `${problem}: restart the service`
    this.#isClosed = true
    for (const pending of [...this.#pending.values()]) this.#settle(pending, unanswered(pending, reason))
    this.onUnusable(new Error(reason))
  }

  /**
   * Sends every request that the writer has not taken, each in a frame of its own. Any of them may be what a writer dies of;
   * none is why this end ended the connection, or why a writer did that has refused one since.
   */
  #sendAgain(lastTaken: number): void {
    const areSuspect = !this.#hasEndedConnection && lastTaken <= this.#lastTaken
    this.#hasEndedConnection = false
    this.#lastTaken = lastTaken
    for (const pending of [...this.#pending.values()]) {
      const { number, frame, start, end } = pending
      if (number <= lastTaken || frame === undefined) continue
      if (pending.sends > 0 && performance.now() - pending.sinceMs > writerClientGoneMs) {
        this.#settle(pending, unanswered(pending, 'the writer may have forgotten its outcome'))
        continue
      }
      if (areSuspect && pending.sends >= writerSendsMax) {
        const reason = `${pending.sends} writers died before they responded`
        this.#settle(pending, new StoreError('unknown_outcome', reason))
        continue
      }
      if (areSuspect || pending.sends === 0) pending.sends++
      const out = new ByteWriter(headBytes + end - start)
      this.#writeHead(out, number)
      out.raw(frame.subarray(start, end))
      this.#socket?.write(takeFrame(out))
    }
  }

  /** What a later frame of the writer says. */
  #takeFrame(frame: Buffer): void {
    const from = new ByteReader(frame)
    const notice = readNotice(from)
    if (notice === 'outcomes') this.#takeOutcomes(from)
    else this.#followers.notify(notice)
  }

  #takeOutcomes(from: ByteReader): void {
    while (from.hasMore) {
      const { number, outcome } = readOutcome(from)
      this.#progressAtMs = performance.now()
      this.#isReported = false
      const pending = this.#pending.get(number)
      // One that was given up, or whose outcome comes a second time.
      if (pending !== undefined) this.#settle(pending, outcome)
    }
  }

  #settle(pending: Pending, outcome: Outcome): void {
    this.#pending.delete(pending.number)
    try {
      answer(pending, outcome)
    } catch (error) {
      pending.reject(error as Error)
    }
    if (this.#pending.size > 0) return
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /**
   * Gives up the requests that have waited long while no writer has answered any. After a suspension, answers may be in the
   * socket that were not read, so the wait begins anew.
   */
  #rejectLate(): void {
    const nowMs = performance.now()
    if (nowMs - this.#checkedAtMs > lateCheckMs) this.#progressAtMs = nowMs
    this.#checkedAtMs = nowMs
    const lateMs = nowMs - writerAnswerMsMax
    if (this.#pending.size === 0 || this.#progressAtMs > lateMs) return
    for (const pending of [...this.#pending.values()]) {
      if (pending.sinceMs > lateMs) break
      // The frame of this turn may still be sent.
      if (pending.frame === undefined) break
      this.#settle(pending, unanswered(pending, `no writer responded within ${writerAnswerMsMax} ms`))
    }
  }
}

function answer({ caller, reject }: Pending, outcome: Outcome): void {
  if (outcome instanceof Error) reject(outcome)
  else if (typeof outcome === 'boolean' && caller.operations === undefined) caller.resolve(outcome)
  else if (typeof outcome !== 'boolean' && caller.operations !== undefined) {
    caller.resolve(resultOf(outcome, caller.operations))
  } else reject(new Error('the writer answered another request'))
}

/** What is known of a request that nobody has answered. */
function unanswered({ sends }: Pending, reason: string): StoreError {
  return new StoreError(sends > 0 ? 'unknown_outcome' : 'unavailable', reason)
}

function closedError(): StoreError {
  return new StoreError('unavailable', 'the store is closed')
}
