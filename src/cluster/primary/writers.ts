/**
 * The primary's side of the writer: one process that writes, and a spare that has loaded its code and takes over when the
 * writer dies. The writer's program is in cluster/writer/writer.ts. Workers keep unanswered requests and send them to the
 * next writer.
 *
 *     the writer dies → its process is gone → the spare opens the store (milliseconds) → a new spare is loaded
 *
 * A replacement, for new settings or a new build: load the new writer → drain the old one → the new one opens the store. If
 * the new writer cannot open the store, or dies within its trial, the spare takes over with the old code and settings.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../base/within.js'
import type { Logger } from '../../ops/log.js'
import { commitDeadlineMs } from '../../settings/limits.js'
import type { Start } from '../messages.js'
import { type Child, loadMsMax, watchSilence } from './child.js'
import type { StoreOpener } from './store-opening.js'

/** Maximum time for a drain: it commits the accepted requests, and the disk may be slow. */
const drainMsMax = commitDeadlineMs

/** A writer sends a heartbeat every second, unless the disk hangs. */
const silentMsMax = commitDeadlineMs

/** The delay before another attempt if a writer could not open the store; it doubles each time, up to `startDelayMsMax`. */
const startDelayMs = 100
const startDelayMsMax = 5000

/** The pause between the exit of a spare and the start of another. */
const spareDelayMs = 1000

/** The time that a new writer runs before its predecessor's spare is discarded. */
const trialMs = 1000

interface Writer {
  readonly child: Child
  readonly start: Start
  readonly loaded: Promise<void>
}

interface WritersOptions {
  readonly opener: StoreOpener
  readonly log: Logger
  readonly fork: () => Child
}

export class Writers {
  readonly #all = new Set<Writer>()
  #current: Writer | undefined
  /** The time at which the last writer exited, or the service started. */
  #absentFromMs = performance.now()
  #spare: Writer | undefined
  /** Resolves after the last replacement or takeover that was requested. */
  #lastChange: Promise<void> = Promise.resolve()
  #isReplacing = false
  #isEnding = false
  #restarts = 0
  /** Consecutive writers that could not open the store. */
  #failedStarts = 0

  constructor(private readonly options: WritersOptions) {
    watchSilence(
      () => this.#loaded(),
      silentMsMax,
      (child, silentMs) => child.end(`it or its disk was unresponsive, and it had sent nothing for ${silentMs} ms`),
    )
  }

  /** The processes that send heartbeats: the writer, and its spare once it has loaded. */
  #loaded(): readonly Child[] {
    const [writer, spare] = [this.#current?.child, this.#spare?.child]
    return [...(writer?.state === 'serving' ? [writer] : []), ...(spare?.version === undefined ? [] : [spare])]
  }

  current(): Child | undefined {
    return this.#current?.child
  }

  /** The time without a writer so far, in ms; 0 while a writer is running. */
  absentMs(): number {
    return this.#current === undefined ? performance.now() - this.#absentFromMs : 0
  }

  /** True if a spare has loaded; it takes over immediately if the writer dies. */
  get hasSpare(): boolean {
    return this.#spare?.child.version !== undefined
  }

  get restarts(): number {
    return this.#restarts
  }

  /** @throws Error if the first writer cannot open the store */
  async begin(start: Start): Promise<void> {
    await this.#open(this.#load(start))
    this.#loadSpare(start)
  }

  /** @throws Error if the new writer cannot take over; the former settings then stay in effect */
  async replace(start: Start): Promise<void> {
    if (this.#failedStarts > 0) throw new Error('no writer can open the store at the moment; see the log')
    try {
      const next = this.#load(start)
      await next.loaded
      await this.#inTurn(() => this.#replaceBy(next))
    } catch (error) {
      throw this.#isEnding ? new Error('the service is stopping') : error
    }
  }

  /** Commits the workers' requests, then stops the writer. Call it after all workers have exited. */
  async drain(): Promise<void> {
    this.#isEnding = true
    this.#spare?.child.discard('the service is stopping')
    const { child } = this.#current ?? {}
    if (child?.state === 'serving') await child.drain(drainMsMax)
    for (const { child } of this.#all) child.discard('the service is stopping')
    await Promise.all([...this.#all].map(({ child }) => child.ended))
  }

  kill(): void {
    this.#isEnding = true
    for (const { child } of this.#all) child.discard('the service is stopped immediately')
  }

  /** Runs replacements and takeovers one at a time: there is at most one writer. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.#lastChange.then(change)
    this.#lastChange = changed.catch(() => {})
    return changed
  }

  async #replaceBy(next: Writer): Promise<void> {
    const former = this.#current
    this.#isReplacing = true
    try {
      await former?.child.drain(drainMsMax)
      await this.#open(next)
      await within(trialMs, next.child.ended)
      if (next.child.state === 'ended') throw new Error(`${next.child} exited soon after it started to write`)
    } catch (error) {
      this.#isReplacing = false
      await this.#takeOver(former?.start ?? next.start)
      throw error
    }
    this.#isReplacing = false
    this.#spare?.child.discard('its successor is loaded')
    this.#loadSpare(next.start)
  }

  #load(start: Start): Writer {
    const child = this.options.fork()
    const writer: Writer = { child, start, loaded: child.waitFor('loaded', loadMsMax) }
    this.#all.add(writer)
    writer.loaded.then(
      () => child.send(start),
      () => {},
    )
    void child.ended.then(({ code, signal }) => this.#onEnd(writer, signal ?? code))
    return writer
  }

  #loadSpare(start: Start): void {
    if (this.#isEnding) return
    try {
      this.#spare = this.#load(start)
    } catch (error) {
      this.options.log.error({ reason: (error as Error).message }, 'no spare writer could be started')
      this.#loadSpareLater(start)
    }
  }

  #loadSpareLater(start: Start): void {
    setTimeout(() => this.#spare ?? this.#loadSpare(start), spareDelayMs).unref()
  }

  async #open(writer: Writer): Promise<void> {
    await writer.loaded
    await this.options.opener.openWriter(writer.child)
    if (!writer.child.enter('serving')) throw new Error(`${writer.child} exited after it had opened the store`)
    this.#current = writer
    this.#failedStarts = 0
  }

  #onEnd(writer: Writer, how: string | number | null): void {
    this.#all.delete(writer)
    if (this.#spare === writer) this.#onSpareEnd(writer)
    if (this.#current !== writer) return
    this.#current = undefined
    this.#absentFromMs = performance.now()
    if (this.#isEnding || this.#isReplacing) return
    const { child, start } = writer
    const livedMs = Math.round(performance.now() - child.startedMs)
    this.options.log.error({ writer: child.process.pid, how, livedMs }, 'writer died')
    void this.#inTurn(() => this.#takeOver(start))
  }

  #onSpareEnd({ child, start }: Writer): void {
    this.#spare = undefined
    if (this.#isEnding || this.#isReplacing || this.#current === undefined) return
    this.options.log.warn({ writer: child.process.pid }, 'the spare writer exited; starting another')
    this.#loadSpareLater(start)
  }

  /** Makes the spare, or a new process, the writer. Retries until one succeeds, because reads continue in the meantime. */
  async #takeOver(start: Start): Promise<void> {
    while (!this.#isEnding && this.#current === undefined) {
      const spare = this.#spare
      this.#spare = undefined
      if (this.#failedStarts > 0) await sleep(Math.min(startDelayMs * 2 ** (this.#failedStarts - 1), startDelayMsMax))
      if (this.#isEnding) return
      try {
        const writer = spare ?? this.#load(start)
        if (writer.child.isStarted) this.#restarts++
        await this.#open(writer)
        this.options.log.info({ writer: writer.child.process.pid }, 'writer replaced')
      } catch (error) {
        if (this.#isEnding) return
        this.options.log.error({ reason: (error as Error).message }, 'writer failed to start')
        this.#failedStarts++
      }
    }
    if (this.#spare === undefined) this.#loadSpare(start)
  }
}
