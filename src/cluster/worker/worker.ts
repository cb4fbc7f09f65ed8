/**
 * A worker process, forked by the primary: load → open the store → serve → drain → exit. It does nothing without a message, and is
 * killed immediately if the primary exits. If a step fails, the process exits.
 *
 * A drain answers the requests in flight and closes the store. The store survives every other way to stop, such as a kill.
 */
import { pathOf } from '../../api/routes/route.js'
import { apiRoutes } from '../../api/routes/routes.js'
import { createService } from '../../api/service.js'
import type { Access } from '../../auth/access.js'
import { Keyring } from '../../auth/keyring.js'
import { exitCodes } from '../../base/exit-codes.js'
import { LiveChanges } from '../../changes/live-changes.js'
import { type HttpServer, startHttpServer } from '../../http/server.js'
import { emptyAnswerRoom } from '../../http/unread.js'
import { createAccessLog } from '../../ops/access-log.js'
import { failureMembers } from '../../ops/log.js'
import { watchLoop } from '../../ops/loop-delay.js'
import { evaluate } from '../../ops/metrics/metric.js'
import { readUsage } from '../../ops/metrics/process-metrics.js'
import { createRequestCounter, type RequestCounter } from '../../ops/metrics/request-stats.js'
import { readStored, workerTable } from '../../ops/metrics/worker-metrics.js'
import { RefusedKeys } from '../../ops/refused-keys.js'
import { isExclusive } from '../../settings/address.js'
import { openStore } from '../../store/open.js'
import type { TopicStore } from '../../store/store.js'
import { connectToWriter } from '../control/directory-sockets.js'
import { ExpirySweeper } from '../expiry-sweeper.js'
import { Life } from '../life.js'
import { bracketed } from '../listening.js'
import type { Start, ToChild } from '../messages.js'
import { respondToParent, sendToParent } from '../parent.js'
import { primaryOf } from './primary.js'

interface Opened {
  readonly store: TopicStore
  readonly keyring: Keyring
  /** Undefined if the writer sweeps. */
  readonly sweeper: ExpirySweeper | undefined
  readonly changes: LiveChanges
}

interface Serving {
  readonly server: HttpServer
  readonly counter: RequestCounter
}

class Worker extends Life {
  readonly #refusedKeys = new RefusedKeys(this.log)
  readonly #loopDelay = watchLoop()
  #start: Start | undefined
  /** Set before `#opened`: while the keys are being read, the store may already be unavailable. */
  #store: TopicStore | undefined
  #opened: Opened | undefined
  /** Settles when the store is open and the keys have been read, or when one of these fails. */
  #opening: Promise<void> | undefined
  #serving: Serving | undefined

  protected take(message: ToChild): void {
    switch (message.kind) {
      case 'start':
        this.#start = message
        return
      case 'open': {
        const open = (): Promise<void> => (this.#opening = this.#open(this.#requireStart()))
        return void this.step(open, { kind: 'opened' }, exitCodes.storeUnusable)
      }
      case 'serve': {
        const serve = (): Promise<void> => this.#serve(this.#requireStart(), this.#requireOpened())
        return void this.step(serve, { kind: 'serving' }, exitCodes.listenFailed)
      }
      case 'drain':
        return void this.#drain()
      case 'request':
        return void respondToParent(message, this.#store)
      case 'suspendKey':
        return void this.#suspendKey(message.revocation, message.name)
      case 'keysChanged':
        return void this.#loadKeys(message.id, message.revocation)
      case 'requestMetrics':
        return void this.#sendMetrics(message.stored)
    }
  }

  async #open({ config, announcesKeys, hasWriter }: Start): Promise<void> {
    if (isExclusive(config.store) && hasWriter !== true)
      throw new Error('the running service is an earlier version without a writer; restart it')
    const options = {
      directory: config.data,
      socketCount: () => this.#serving?.server.connections() ?? 0,
      sharers: config.workers,
      fencedReads: config.fencedReads,
      changesKept: config.changesKept,
      onUnusable: (reason: Error) => this.#onUnusable(reason),
      onUnreadable: (reason: Error) =>
        this.log.error({ err: reason }, 'a record of the log or a message from the writer cannot be read'),
    }
    const store = await openStore(config.store, options, () => connectToWriter(config.data))
    this.#store = store
    // The primary requests a first key only once it knows whether the store is available.
    this.sendHeartbeat()
    const onFailure = (error: unknown): void =>
      this.log.error(failureMembers(error), 'API keys cannot be read or written')
    const polls = announcesKeys !== true || !isExclusive(config.store)
    const keyring = await Keyring.open(store, onFailure, config.workers, polls)
    const sweeper = isExclusive(config.store) ? undefined : new ExpirySweeper(store, this.log)
    const onFailedStream = (error: unknown): void => this.log.error({ err: error }, 'stream failed')
    const changes = new LiveChanges(store, config.changesListenersMax, onFailedStream)
    keyring.watch(() => changes.keysChanged())
    this.#opened = { store, keyring, sweeper, changes }
  }

  async #serve({ config, port }: Start, { store, keyring, sweeper, changes }: Opened): Promise<void> {
    const { basePath, bodyBytesMax, pageSizeMax, pageBytesMax, host, tlsCert, tlsKey, adminHost, adminPort } = config
    const { batchOperationsMax, uploadBytesMax, corsOrigins } = config
    const answerRoom = emptyAnswerRoom()
    const findCaller = (authorization: string): Access | undefined => keyring.find(authorization)
    const counter = createRequestCounter(apiRoutes.map((route) => basePath + pathOf(route)))
    const bounds = { pageSizeMax, pageBytesMax, answerRoom, batchOperationsMax }
    const context = { store, changes, findCaller, countRefused: counter.refused, ...bounds }
    const service = createService({
      context,
      keyring,
      basePath,
      bodyBytesMax,
      uploadBytesMax,
      hasConsole: !config.noConsole,
      admin: { host: adminHost, port: adminPort },
      compresses: config.gzip,
      address: `${bracketed(host)}:${port}`,
      onFailure: (error) => this.log.error({ err: error }, 'request failed'),
      onRefusedKey: () => this.#refusedKeys.add(),
      primary: primaryOf(config.data),
      ...(config.accessLog ? createAccessLog(this.log, counter) : counter),
    })
    const tls = tlsCert === '' ? undefined : { certFile: tlsCert, keyFile: tlsKey }
    const options = { host, port, bodyBytesMax, uploadBytesMax, answerRoom, origins: corsOrigins, tls }
    this.#serving = { server: await startHttpServer(service, options), counter }
    sweeper?.enable(true)
  }

  /** `#loadKeys` ends the suspension. If the store is not open yet, the primary repeats the message when it is open. */
  async #suspendKey(revocation: number, name: string): Promise<void> {
    await this.#opening?.catch(() => {})
    this.#opened?.keyring.suspend(revocation, name)
  }

  /**
   * Loads the current API keys and confirms. Before the store is opened, there are no keys to load.
   *
   * @param revocation the number of a finished revocation, which no longer suspends its key
   */
  async #loadKeys(id: number, revocation?: number): Promise<void> {
    await this.#opening?.catch(() => {})
    await this.#opened?.keyring.reload()
    if (revocation !== undefined) this.#opened?.keyring.resume(revocation)
    sendToParent({ kind: 'keysLoaded', id })
  }

  async #sendMetrics(withStore: boolean): Promise<void> {
    if (this.#opened === undefined || this.#serving === undefined) return
    try {
      const stored = withStore ? await readStored(this.#opened.store) : undefined
      const metrics = evaluate(workerTable, {
        ...this.#opened,
        ...this.#serving,
        stored,
        changes: this.#opened.changes.stats(),
        changesKeptMin: this.#requireStart().config.changesKept,
        loopDelay: this.#loopDelay(),
        usage: readUsage(),
      })
      sendToParent({ kind: 'metrics', metrics })
    } catch (error) {
      this.log.error({ err: error }, 'the metrics cannot be read')
    }
  }

  protected sendHeartbeat(): void {
    // Only the writer knows whether the disk has room.
    sendToParent({ kind: 'heartbeat', writable: true, storeProblem: this.#storeProblem() })
  }

  /** The reason why requests cannot be answered from the store; undefined while they can. */
  #storeProblem(): string | undefined {
    const keysProblem = (): string | undefined =>
      this.#opened?.keyring.isKnown() === false ? 'the API keys have not been read yet' : undefined
    return this.#store?.notReady?.() ?? keysProblem()
  }

  /** Answers the requests in flight, closes everything and exits. */
  #drain(): Promise<void> {
    this.#opened?.sweeper?.enable(false)
    return this.endAfter([
      () => this.#opened?.changes.drain(),
      () => this.#serving?.server.drain(this.#requireStart().config.drainMs),
      () => this.#sendMetrics(false),
      () => this.#refusedKeys.flush(),
      () => this.#opened?.keyring.close(),
      () => this.#store?.close(),
    ])
  }

  /** Called if the engine or the writer, unreachable at first, turns out to be unusable for this program. */
  #onUnusable(reason: Error): void {
    this.log.fatal({ err: reason }, 'the store cannot be used')
    this.fail(reason, exitCodes.storeUnusable)
  }

  #requireStart(): Start {
    if (this.#start === undefined) throw new Error('the primary has sent no settings')
    return this.#start
  }

  #requireOpened(): Opened {
    if (this.#opened === undefined) throw new Error('the store is not open, or its API keys have not been read')
    return this.#opened
  }
}

new Worker('worker').begin()
