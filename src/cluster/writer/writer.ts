/**
 * The writer process, forked by the primary: load → open the store and listen → drain → exit. A process that has loaded but has not
 * opened the store is the spare, which takes over immediately when the writer dies. The process does nothing without a message, and
 * is killed immediately if the primary exits.
 *
 * A drain accepts no more requests and answers the accepted ones. If a commit fails, the process exits immediately:
 * workers keep unanswered requests, and the next writer knows which were committed. The store survives every
 * other way to stop, such as a kill.
 */
import type { Server } from 'node:net'
import { exitCodes } from '../../base/exit-codes.js'
import { evaluate } from '../../ops/metrics/metric.js'
import { readUsage } from '../../ops/metrics/process-metrics.js'
import { writerTable } from '../../ops/metrics/writer-metrics.js'
import type { Config } from '../../settings/config.js'
import { type LmdbWriter, openLmdbWriter } from '../../store/lmdb/open.js'
import { listenForWorkers } from '../control/directory-sockets.js'
import { ExpirySweeper } from '../expiry-sweeper.js'
import { Life } from '../life.js'
import type { ToChild } from '../messages.js'
import { respondToParent, sendToParent } from '../parent.js'

interface Opened {
  readonly writer: LmdbWriter
  readonly sweeper: ExpirySweeper
  readonly server: Server
}

class Writer extends Life {
  #config: Config | undefined
  #opened: Opened | undefined

  protected take(message: ToChild): void {
    const writer = this.#opened?.writer
    switch (message.kind) {
      case 'start':
        this.#config = message.config
        return
      case 'open':
        return void this.step(() => this.#open(), { kind: 'opened' }, exitCodes.storeUnusable)
      case 'pauseWrites':
        writer?.pauseWrites()
        return sendToParent({ kind: 'paused' })
      case 'resumeWrites':
        return writer?.resumeWrites()
      case 'drain':
        return void this.#drain()
      case 'request':
        return void respondToParent(message, writer?.store)
      case 'requestMetrics':
        return this.#sendMetrics()
    }
  }

  async #open(): Promise<void> {
    if (this.#config === undefined) throw new Error('the primary has sent no settings')
    const { data, diskFreeBytesMin, changesKept } = this.#config
    const writer = openLmdbWriter({
      directory: data,
      onBroken: (reason) => this.#onBroken(reason),
      onUnreadable: (reason) =>
        this.log.error({ err: reason }, 'receipts or a request from a worker or a tool cannot be read'),
      diskFreeBytesMin,
      changesKept,
    })
    const server = await listenForWorkers(data, (socket) => writer.accept(socket))
    const sweeper = new ExpirySweeper(writer.store, this.log)
    this.#opened = { writer, server, sweeper }
    sweeper.enable(true)
    // Sent before `opened`, so that a service with a full disk is never reported as ready.
    this.sendHeartbeat()
  }

  #sendMetrics(): void {
    if (this.#opened === undefined) return
    const { writer, sweeper } = this.#opened
    const metrics = evaluate(writerTable, { ...writer, sweeper, usage: readUsage() })
    sendToParent({ kind: 'metrics', metrics })
  }

  protected sendHeartbeat(): void {
    const writable = this.#opened?.writer.store.disk?.isNearlyFull() !== true
    sendToParent({ kind: 'heartbeat', writable })
  }

  #drain(): Promise<void> {
    this.#opened?.sweeper.enable(false)
    return this.endAfter([
      () => this.#opened?.server.close(),
      () => this.#opened?.writer.close(),
      () => this.#sendMetrics(),
    ])
  }

  #onBroken(reason: Error): void {
    this.log.fatal({ err: reason, cause: String(reason.cause ?? '') }, 'commit failed; the writer exits')
    // Without these last counts, no metric would ever show the failed writes.
    this.#sendMetrics()
    this.end(exitCodes.commitFailed)
  }
}

new Writer('writer').begin()
