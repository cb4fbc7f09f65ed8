/**
 * The writer's end of the connections: accepts requests from workers and tools, has each request executed in a transaction,
 * and answers once that transaction is on disk. core/write/ decides the effect of a request, and receipts.ts ensures that it
 * happens only once.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { ByteReader, ByteWriter } from '../../base/bytes.js'
import { within } from '../../base/within.js'
import { operationsInOneCommitMax, writerClientGoneMs } from '../../settings/limits.js'
import type { Request } from '../core/write/group.js'
import type { LoggedRecord } from '../engine.js'
import type { StoreError } from '../errors.js'
import { beginFrame, frameHeadBytes, readFrames, takeFrame } from './frames.js'
import type { Receipt, Receipts, WriterRequest } from './receipts.js'
import { protocolVersion, readRequest, writeNotice } from './wire.js'

/** Limit on bytes of operations read from one worker but not yet executed; the rest waits in the worker. */
export const bytesQueuedByClientMax = 64 * 1024 * 1024

/** Time limit for sending the last outcomes of a stopping writer. */
const lastAnswersMs = 1000

/** Client names become lmdb keys; an invalid one would abort the whole transaction. */
const clientName = /^[\w-]{1,64}$/

/** Room for the numbers of a greeting or a notice. */
const headBytes = 64

/** An empty frame: the log has grown. */
const emptyNotice = Buffer.alloc(frameHeadBytes)

/** Longer records are not sent: with that many keys, reading the log costs little per key. */
const noticeValueBytesMax = 8 * 1024

/** Clients with more unread bytes get empty notices, so that a hung one costs little memory. */
const unreadBytesMax = 64 * 1024

interface Connection {
  readonly socket: Socket
  readonly receipt: Receipt
  operations: number
  bytes: number
  /** The client can read a notice with a record. */
  readonly takesRecords: boolean
  /** The client gets a notice whenever the log has grown. */
  isWatching: boolean
}

/** Uses the decider of `withReceipts`, with the same receipts. */
interface WriterCommits {
  /** @param settle called once, with the reason if the request, or its whole commit, is not on disk */
  submit(request: WriterRequest, settle: (settled: object) => void): void
  close(): Promise<void>
}

export class WriterServer {
  readonly #connections = new Map<string, Connection>()
  /** The time at which each client without a connection was last seen, in ms of performance.now(). */
  readonly #gone = new Map<string, number>()
  readonly #forgetting: NodeJS.Timeout
  #isStopped = false
  #frames = 0

  /** @param onUnreadable called with the fault in an unreadable message from a client: a defect, reported only to the affected request */
  constructor(
    private readonly commits: WriterCommits,
    private readonly receipts: Receipts,
    private readonly onUnreadable: (reason: Error) => void = () => {},
  ) {
    for (const name of receipts.names()) this.#gone.set(name, performance.now())
    this.#forgetting = setInterval(() => this.#forgetGone(), writerClientGoneMs / 3)
    this.#forgetting.unref()
  }

  /** Number of frames received so far. */
  get frames(): number {
    return this.#frames
  }

  accept(socket: Socket): void {
    let connection: Connection | undefined
    socket.on('error', () => socket.destroy())
    socket.on('close', () => connection && this.#onClosed(connection))
    const take = (frame: Buffer): void => {
      if (this.#isStopped) return
      if (connection === undefined) connection = this.#greet(socket, new ByteReader(frame))
      else this.#take(connection, frame)
    }
    readFrames(socket, take, this.onUnreadable)
  }

  /** Accepts no more requests, answers the accepted ones, and closes the connections. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#forgetting)
    await this.commits.close()
    const ends = [...this.#connections.values()].map(async ({ socket }) => {
      socket.end()
      if (!socket.writableFinished) await once(socket, 'finish').catch(() => {})
    })
    await within(lastAnswersMs, Promise.all(ends))
    for (const { socket } of this.#connections.values()) socket.destroy()
  }

  /** Call when a transaction is on disk: sends the outcomes of its requests. @param record its record in the log */
  readonly answerAll = (record: LoggedRecord | undefined): void => {
    for (const receipt of this.receipts.takeChanged()) this.#answer(receipt)
    if (record === undefined) return
    let notice: Buffer | undefined
    for (const { socket, isWatching, takesRecords } of this.#connections.values()) {
      if (!isWatching) continue
      const isSent = takesRecords && socket.writableLength <= unreadBytesMax
      socket.write(isSent ? (notice ??= noticeOf(record)) : emptyNotice)
    }
  }

  #greet(socket: Socket, from: ByteReader): Connection | undefined {
    const version = from.uint32()
    const out = new ByteWriter(headBytes)
    beginFrame(out)
    out.uint32(protocolVersion)
    if (version !== protocolVersion) {
      socket.end(takeFrame(out))
      return undefined
    }
    const name = from.text()
    if (!clientName.test(name)) throw new RangeError('invalid client name')
    const receipt = this.receipts.of(name)
    receipt.acknowledge(from.double())
    const takesRecords = from.hasMore && from.byte() === 1
    if (from.hasMore) receipt.takeGiven(from.double())
    this.#connections.get(name)?.socket.destroy()
    const connection = { socket, receipt, operations: 0, bytes: 0, takesRecords, isWatching: false }
    this.#connections.set(name, connection)
    this.#gone.delete(name)
    receipt.takeUnsent()
    out.double(receipt.lastTaken)
    out.raw(receipt.record())
    socket.write(takeFrame(out))
    return connection
  }

  #take(connection: Connection, frame: Buffer): void {
    this.#frames++
    const { receipt } = connection
    const from = new ByteReader(frame)
    receipt.acknowledge(from.double())
    let number = from.double()
    const isWatching = from.byte() === 1
    // The client may have missed commits made before this frame arrived.
    if (isWatching && !connection.isWatching) connection.socket.write(emptyNotice)
    connection.isWatching = isWatching
    if (number <= receipt.lastTaken) throw new RangeError('a request was sent twice')
    while (from.hasMore) {
      const start = from.position
      receipt.lastTaken = number
      try {
        const request = readRequest(from, frame)
        this.#submit(connection, number, request, from.position - start)
      } catch (error) {
        // The start of the next request is unknown: the client sends the rest again over the next connection.
        this.#refuse(receipt, number, error as Error)
        throw error
      }
      number++
    }
    this.#regulate(connection)
  }

  /** @param bytes the size of the request in its frame, including constraints, which are not written */
  #submit(connection: Connection, number: number, request: Request, bytes: number): void {
    const { receipt } = connection
    const operations = 'operations' in request ? request.operations.length : 1
    connection.operations += operations
    connection.bytes += bytes
    this.commits.submit({ request, from: { receipt, number } }, (settled) => {
      connection.operations -= operations
      connection.bytes -= bytes
      this.#regulate(connection)
      if (!('error' in settled)) return
      const failure = settled.error as StoreError
      if (failure.kind === 'unknown_outcome') this.#onBroken()
      // After any other failure this process exits, and its successor knows the outcome of the request.
      if (failure.kind === 'full') this.#refuse(receipt, number, failure)
    })
  }

  /** Answers a request that has no effect in any transaction. */
  #refuse(receipt: Receipt, number: number, failure: Error): void {
    receipt.add(number, failure)
    process.nextTick(() => this.#answer(receipt))
  }

  /** The receipts hold outcomes of a transaction that is not on disk: nothing more may leave this process. */
  #onBroken(): void {
    this.#isStopped = true
    for (const { socket } of this.#connections.values()) socket.destroy()
    this.#connections.clear()
  }

  /** Stops reading from a client with a lot of queued work, so that the others get their turn and memory is bounded. */
  #regulate({ socket, operations, bytes }: Connection): void {
    const isMuch = operations > operationsInOneCommitMax || bytes > bytesQueuedByClientMax
    if (isMuch) socket.pause()
    else if (socket.isPaused()) socket.resume()
  }

  #answer(receipt: Receipt): void {
    const socket = this.#connections.get(receipt.name)?.socket
    for (const frame of receipt.takeUnsent()) socket?.write(frame)
  }

  #onClosed({ socket, receipt: { name } }: Connection): void {
    if (this.#connections.get(name)?.socket !== socket) return
    this.#connections.delete(name)
    this.#gone.set(name, performance.now())
  }

  #forgetGone(): void {
    const names = [...this.#gone].flatMap(([name, sinceMs]) =>
      performance.now() - sinceMs > writerClientGoneMs ? [name] : [],
    )
    if (names.length === 0) return
    for (const name of names) this.#gone.delete(name)
    // Excludes clients that have reconnected since.
    const stillGone = (): readonly string[] => names.filter((name) => !this.#connections.has(name))
    this.commits.submit({ forgotten: stillGone, clients: names.length }, (settled) => {
      if ('error' in settled) for (const name of stillGone()) this.#gone.set(name, performance.now())
    })
  }
}

function noticeOf(record: LoggedRecord): Buffer {
  if (record.keys.length > noticeValueBytesMax) return emptyNotice
  const out = new ByteWriter(headBytes + record.keys.length)
  beginFrame(out)
  writeNotice(out, record)
  return takeFrame(out)
}
