/**
 * The writer as the primary keeps it: one process that writes, and a spare that has loaded its code and takes over when
 * that one dies. What a writer does is in cluster/writer/writer.ts; workers keep what is not answered, and send it to
 * the next one.
 *
 *     the writer dies → its process is gone → the spare opens the store (milliseconds) → a new spare is loaded
 *
 * A replacement, for new settings or a new build: load the new one → the old one drains → the new one opens. If it cannot,
 * or dies within its trial, the spare takes over, which has the code and the settings of the old one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '../../base/within.js'
import type { Logger } from '../../ops/log.js'
import { commitDeadlineMs } from '../../settings/limits.js'
import type { Start } from '../messages.js'
import { type Child, loadMsMax, watchSilence } from './child.js'
import type { StoreOpener } from './store-opening.js'

/** How long a drain may take: it commits what was taken, and the disk may be slow. */
const drainMsMax = commitDeadlineMs

/** A heartbeat comes every second, unless the disk hangs. */
const silentMsMax = commitDeadlineMs

/** Before another attempt when a writer could not open the store; doubled for each further one, up to the second. */
const startDelayMs = 100
const startDelayMsMax = 5000

/** Between the end of a spare and the start of another. */
const spareDelayMs = 1000

/** How long a new writer works before its predecessor's spare is given up. */
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
  /** When the last one ended, or the service began. */
  #absentFromMs = performance.now()
  #spare: Writer | undefined
  /** Resolves after the last replacement or take-over that was begun. */
  #lastChange: Promise<void> = Promise.resolve()
  #isReplacing = false
  #isEnding = false
  #restarts = 0
  /** Writers that could not open the store, in a row. */
  #failedStarts = 0

  constructor(private readonly options: WritersOptions) {
    watchSilence(
      () => this.#loaded(),
      silentMsMax,
      (child, silentMs) => child.end(`it hangs, or its disk does: nothing was heard from it for ${silentMs} ms`),
    )
  }

  /** The writer, and its spare once that has loaded: those that send heartbeats. */
  #loaded(): readonly Child[] {
    const [writer, spare] = [this.#current?.child, this.#spare?.child]
    return [...(writer?.state === 'serving' ? [writer] : []), ...(spare?.version === undefined ? [] : [spare])]
  }

  current(): Child | undefined {
    return this.#current?.child
  }

  /** For how long no process has been writing, in ms; 0 while one is. */
  absentMs(): number {
    return this.#current === undefined ? performance.now() - this.#absentFromMs : 0
  }

  /** True if a spare has loaded, which writes immediately if the writer dies. */
  get hasSpare(): boolean {
    return this.#spare?.child.version !== undefined
  }

  get restarts(): number {
    return this.#restarts
  }

  /** @throws Error when the first writer cannot open the store */
  async begin(start: Start): Promise<void> {
    await this.#open(this.#load(start))
    this.#loadSpare(start)
  }

  /** @throws Error when the new writer cannot take over; one with the former code and settings writes then */
  async replace(start: Start): Promise<void> {
    if (this.#failedStarts > 0) throw new Error('no writer can open the store at the moment: see the log')
    try {
      const next = this.#load(start)
      await next.loaded
      await this.#inTurn(() => this.#replaceBy(next))
    } catch (error) {
      throw this.#isEnding ? new Error('the service is stopping') : error
    }
  }

  /** Commits what workers have sent, and ends. To be called when all of them have ended. */
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
    for (const { child } of this.#all) child.discard('the service is stopped at once')
  }

  /** Replacements and take-overs come one after the other: there is at most one writer. */
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
      if (next.child.state === 'ended') throw new Error(`${next.child} ended soon after it began to write`)
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
    if (!writer.child.enter('serving')) throw new Error(`${writer.child} ended when it had opened the store`)
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
    this.options.log.warn({ writer: child.process.pid }, 'the spare writer ended; another one is started')
    this.#loadSpareLater(start)
  }

  /** Has the spare, or a new process, write; tries until one does, since reads go on meanwhile. */
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
