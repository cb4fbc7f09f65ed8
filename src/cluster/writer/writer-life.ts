/**
 * The writer's life: load → open the store and listen → drain → end. Loaded, but without the store, it is the spare that
 * takes over at once when the writer dies.
 *
 * Ways to end: a drain takes no more requests, and answers those that it has taken. A broken commit ends the process at
 * once: workers keep what is not answered, and the next writer knows what was committed. Everything else is a kill,
 * which the store survives.
 */
import type { Server } from 'node:net'
import { exitCodes } from '../../base/exit-codes.js'
import { failureMembers, type Logger } from '../../ops/log.js'
import { readWriterStats } from '../../ops/metrics/writer-stats.js'
import type { Config } from '../../settings/config.js'
import { type LmdbWriter, openLmdbWriter } from '../../store/lmdb/open.js'
import { listenForWorkers } from '../control/writer-socket.js'
import { ExpirySweeper } from '../expiry-sweeper.js'
import type { ToChild } from '../messages.js'
import { respondToParent, sendToParent } from '../parent.js'
import { takeAllSteps } from '../steps.js'

/** The open store, and what is made with it. */
interface Opened {
  readonly writer: LmdbWriter
  readonly sweeper: ExpirySweeper
  readonly server: Server
}

export class WriterLife {
  #config: Config | undefined
  #opened: Opened | undefined
  #isEnding = false

  constructor(private readonly log: Logger) {}

  get isEnding(): boolean {
    return this.#isEnding
  }

  start(config: Config): void {
    this.#config = config
  }

  /** Opens the store and serves; ends the process when that fails. */
  async open(): Promise<void> {
    try {
      this.#opened = await this.#open()
      this.#opened.sweeper.enable(true)
      // First, so that a service with a full disk is never called ready.
      this.sendHeartbeat()
      sendToParent({ kind: 'opened' })
    } catch (error) {
      this.log.fatal({ err: error }, 'writer could not go on')
      sendToParent({ kind: 'failed', reason: (error as Error).message })
      this.#end(exitCodes.storeUnusable)
    }
  }

  async #open(): Promise<Opened> {
    if (this.#config === undefined) throw new Error('the primary has sent no settings')
    const { data, diskFreeBytesMin, changesKept } = this.#config
    const writer = openLmdbWriter({
      directory: data,
      onBroken: (reason) => this.#onBroken(reason),
      onUnreadable: (reason) =>
        this.log.error({ err: reason }, 'unreadable: receipts, or a request of a worker or a tool'),
      disk: { freeBytesMin: diskFreeBytesMin },
      changesKept,
    })
    const server = await listenForWorkers(data, (socket) => writer.accept(socket))
    return { writer, server, sweeper: new ExpirySweeper(writer.store, this.log) }
  }

  pauseWrites(): void {
    this.#opened?.writer.pauseWrites()
    sendToParent({ kind: 'paused' })
  }

  resumeWrites(): void {
    this.#opened?.writer.resumeWrites()
  }

  respond(request: Extract<ToChild, { readonly kind: 'request' }>): Promise<void> {
    return respondToParent(request, this.#opened?.writer.store)
  }

  sendStats(): void {
    if (this.#opened === undefined) return
    const { writer, sweeper } = this.#opened
    sendToParent({ kind: 'writerStats', stats: readWriterStats(writer, sweeper) })
  }

  sendHeartbeat(): void {
    const writable = this.#opened?.writer.store.disk?.isNearlyFull() !== true
    sendToParent({ kind: 'heartbeat', writable })
  }

  /** Takes no more requests, answers those that were taken, and ends. */
  async drain(): Promise<void> {
    this.#opened?.sweeper.enable(false)
    const steps = [() => this.#opened?.server.close(), () => this.#opened?.writer.close(), () => this.sendStats()]
    await takeAllSteps(steps, (error) => this.log.warn(failureMembers(error), 'a step of the drain failed'))
    this.#end(exitCodes.done)
  }

  #onBroken(reason: Error): void {
    this.log.fatal({ err: reason, cause: String(reason.cause ?? '') }, 'commit failed; the writer ends')
    // Without its last counts, no metric would ever show the writes that failed.
    this.sendStats()
    this.#end(exitCodes.commitFailed)
  }

  #end(code: number): void {
    this.#isEnding = true
    process.exit(code)
  }
}
