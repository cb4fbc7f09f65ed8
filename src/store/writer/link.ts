/**
 * A worker's or a tool's end of the connection to the writer. It lasts as long as the process and outlives writers. A new writer
 * first reports which requests its predecessor has committed, and the link sends the others again (session.ts). So no request is
 * executed twice, and a caller usually notices only a slower response.
 *
 * The requests of one turn of the event loop share a frame.
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { beforeNextPoll } from '../../base/after-poll.js'
import { ByteReader, ByteWriter } from '../../base/bytes.js'
import type { RecordChange } from '../core/write/records.js'
import type { LoggedRecord } from '../engine.js'
import { StoreError } from '../errors.js'
import { Followers } from '../followers.js'
import type { BatchResult, WriteOperation } from '../topics.js'
import type { Writing } from '../writing.js'
import { beginFrame, readFrames, takeFrame } from './frames.js'
import { type GivenUp, lateCheckMs, type Pending, Session } from './session.js'
import { type Outcome, protocolVersion, readNotice, readOutcome, writeChange, writeOperations } from './wire.js'

/** Interval between attempts to connect: a writer that exited is replaced within about 50 ms. */
const reconnectMs = 10

/** Bytes of the random name of this end, under which receipts are stored. */
const clientBytes = 8

/** A frame of this many bytes is sent before the end of its turn. */
const frameBytesFull = 1024 * 1024

/** Room for the numbers at the start of a frame, and for the client's name. */
const headBytes = 64

interface Caller {
  /** The type of its request's outcome. */
  readonly type: 'boolean' | 'object'
  readonly resolve: (outcome: BatchResult | boolean) => void
  readonly reject: (reason: Error) => void
}

export class WriterLink implements Writing {
  readonly #client = randomBytes(clientBytes).toString('hex')
  readonly #out = new ByteWriter()
  readonly #session = new Session<Caller>(performance.now())
  /** The requests of this turn, whose frame is still growing. */
  #turn: Pending<Caller>[] = []
  #socket: Socket | undefined
  #isClosed = false
  /** The frame will be sent at the end of this turn. */
  #endsSoon = false
  /** A frame was reported as unreadable, and no outcome has arrived since. */
  #isReported = false
  #onDrained: (() => void)[] = []
  readonly #deadlines: NodeJS.Timeout
  readonly #followers = new Followers<LoggedRecord | undefined>(() => this.#sayWatching())

  /**
   * Connects now, and again whenever the connection closes.
   *
   * @param onUnusable called if the writer's build cannot serve this process
   * @param onUnreadable called with the defect if a frame from the writer cannot be read, and not called again until an outcome has
   *   arrived
   */
  constructor(
    private readonly connect: () => Socket,
    private readonly onUnusable: (reason: Error) => void,
    private readonly onUnreadable: (reason: Error) => void = () => {},
  ) {
    const giveUpLate = (): void => this.#rejectAll(this.#session.giveUpLate(performance.now()))
    this.#deadlines = setInterval(giveUpLate, lateCheckMs)
    this.#deadlines.unref()
    this.#reconnect()
  }

  readonly write = (operations: readonly WriteOperation[], isAtomic = true): Promise<BatchResult> =>
    this.#ask('object', (out) => writeOperations(out, operations, isAtomic)) as Promise<BatchResult>

  /** @returns false if the change was rejected */
  change(change: RecordChange): Promise<boolean> {
    return this.#ask('boolean', (out) => writeChange(out, change)) as Promise<boolean>
  }

  readonly follow: Writing['follow'] = (onGrown) => this.#followers.add(onGrown)

  /** Rejects further requests; resolves once all others are answered. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (!this.#session.isIdle) await new Promise<void>((resolve) => this.#onDrained.push(resolve))
    clearInterval(this.#deadlines)
    this.#socket?.destroy()
  }

  /** Appends a request to the frame of this turn. */
  #ask(type: Caller['type'], encode: (out: ByteWriter) => void): Promise<BatchResult | boolean> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new StoreError('unavailable', 'the store is closed'))
      const out = this.#out
      if (out.length > frameBytesFull) this.#endFrame()
      if (out.length === 0) this.#beginFrame()
      const start = out.length
      try {
        encode(out)
      } catch (error) {
        // A defect in the caller, which must not affect other requests.
        out.cut(start)
        throw error
      }
      this.#turn.push(this.#session.add({ type, resolve, reject }, start, out.length, performance.now()))
    })
  }

  /** Tells the writer, in a frame without requests, whether the log is watched from now on. */
  #sayWatching(): void {
    if (this.#out.length > 0) this.#endFrame()
    this.#beginFrame()
  }

  #beginFrame(): void {
    this.#writeHead(this.#out, this.#session.lastNumber + 1)
    if (this.#endsSoon) return
    this.#endsSoon = true
    beforeNextPoll(() => {
      this.#endsSoon = false
      if (this.#out.length > 0) this.#endFrame()
    })
  }

  /** Starts a frame of requests; `first` is the number of the first one. */
  #writeHead(out: ByteWriter, first: number): void {
    beginFrame(out)
    out.double(this.#session.answeredBelow(first))
    out.double(first)
    out.byte(this.#followers.isWatching ? 1 : 0)
  }

  #endFrame(): void {
    const frame = takeFrame(this.#out)
    const isSent = this.#session.endFrame(this.#turn, frame)
    this.#turn = []
    if (isSent) this.#socket?.write(frame)
  }

  /** Reconnects. Keeps trying until it succeeds, or the link is closed and nothing is pending. */
  #reconnect(): void {
    if (this.#isClosed && this.#session.isIdle) return
    this.#session.disconnected()
    let socket: Socket
    try {
      socket = this.connect()
    } catch {
      // No descriptor is free, or the directory is temporarily missing.
      setTimeout(() => this.#reconnect(), reconnectMs)
      return
    }
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#session.disconnected()
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
    this.#session.endsConnection()
  }

  #greet(socket: Socket): void {
    const out = new ByteWriter(headBytes)
    beginFrame(out)
    out.uint32(protocolVersion)
    out.text(this.#client)
    out.double(this.#session.answeredBelow(this.#session.lastNumber + 1))
    out.byte(1)
    out.double(this.#session.lastNumber)
    socket.write(takeFrame(out))
  }

  /** The writer's first frame: the last request that it accepted from this end, and the outcomes that might not have arrived. */
  #onGreeting(socket: Socket, from: ByteReader): void {
    const version = from.uint32()
    if (version !== protocolVersion) {
      // No compatible writer will appear.
      const reason = `the writer uses version ${version} of the internal protocol, but this process uses version ${protocolVersion}: restart the service`
      socket.destroy()
      this.#isClosed = true
      this.#rejectAll(this.#session.giveUpAll(reason))
      return this.onUnusable(new Error(reason))
    }
    const lastTaken = from.double()
    this.#takeOutcomes(from)
    const { again, givenUp } = this.#session.greeted(lastTaken, performance.now())
    for (const pending of again) this.#sendAgain(socket, pending)
    this.#rejectAll(givenUp)
    if (this.#followers.isWatching) this.#sayWatching()
  }

  /** Sends a request in its own frame. */
  #sendAgain(socket: Socket, { number, frame, start, end }: Pending<Caller>): void {
    const out = new ByteWriter(headBytes + end - start)
    this.#writeHead(out, number)
    out.raw((frame as Buffer).subarray(start, end))
    socket.write(takeFrame(out))
  }

  #takeFrame(frame: Buffer): void {
    const from = new ByteReader(frame)
    const notice = readNotice(from)
    if (notice === 'outcomes') this.#takeOutcomes(from)
    else this.#followers.notify(notice)
  }

  #takeOutcomes(from: ByteReader): void {
    while (from.hasMore) {
      const { number, outcome } = readOutcome(from)
      this.#isReported = false
      const pending = this.#session.answered(number, performance.now())
      if (pending !== undefined) settle(pending.caller, outcome)
    }
    this.#noteIdle()
  }

  #rejectAll(givenUp: readonly GivenUp<Caller>[]): void {
    for (const { pending, reason } of givenUp) pending.caller.reject(reason)
    this.#noteIdle()
  }

  #noteIdle(): void {
    if (!this.#session.isIdle) return
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }
}

function settle({ type, resolve, reject }: Caller, outcome: Outcome): void {
  if (outcome instanceof Error) reject(outcome)
  else if (typeof outcome === type) resolve(outcome)
  else reject(new Error('the writer responded to another request'))
}
