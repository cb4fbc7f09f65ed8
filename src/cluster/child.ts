/**
 * One child process as the primary sees it: its state, what it has said, what is awaited from it, and its end. It knows
 * nothing of when to start or replace one.
 *
 * A child that does not say in time what it must is of no use to anybody: the wait itself ends it. Nothing is left behind
 * by a wait that is over, since a child outlives millions of them.
 */
import type { ChildProcess } from 'node:child_process'
import type { Logger } from '../ops/log.js'
import type { WorkerStats } from '../ops/worker-stats.js'
import type { FromChild, Question, ToChild } from './messages.js'
import { nativeFaults } from './native-faults.js'

/**
 * A child's life, in this order. A tool stays `starting` until it has ended.
 *
 * - starting: from the fork until it serves
 * - serving
 * - draining: it answers what is in flight, and ends
 * - ended: the process is gone
 */
export type ChildState = 'starting' | 'serving' | 'draining' | 'ended'

/** How a child ended, and what it was about. */
export interface End {
  readonly code: number | null
  readonly signal: string | null
  readonly during: Exclude<ChildState, 'ended'>
}

/** Somebody who waits for a word, or for an answer. */
interface Waiter {
  readonly isFor: (message: FromChild) => boolean
  readonly resolve: (message: FromChild) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}

/** How long a child whose store broke may take to end by itself: its exit waits for a thread that the disk may never let go. */
const brokenMsMax = 2000

export class Child {
  readonly process: ChildProcess
  readonly startedMs = performance.now()
  /** When it last gave a sign of life, in ms of performance.now(). */
  heardMs = performance.now()
  /** Whether it could write when it last said so. */
  writable = true
  /** Why its store is unavailable at the moment; undefined while it is not. */
  storeProblem: string | undefined
  /** What it last told of itself. */
  figures: WorkerStats | undefined
  /** The version of its build; undefined until it has loaded. */
  version: string | undefined
  /** Resolves when the process is gone, also when it could not be started at all. */
  readonly ended: Promise<End>

  readonly #log: Logger
  readonly #waiters = new Set<Waiter>()
  #state: ChildState = 'starting'
  /** Why it ended, or is being ended; in its own words where it had any. */
  #failure: string | undefined
  #lastId = 0

  constructor(process: ChildProcess, log: Logger) {
    this.process = process
    this.#log = log
    this.ended = new Promise((resolve) => {
      const onEnd = (code: number | null, signal: string | null): void => {
        if (this.#state === 'ended') return
        const end: End = { code, signal, during: this.#state }
        this.#state = 'ended'
        this.#failure ??= `${this} ${describeEnd(end)}`
        for (const waiter of [...this.#waiters]) this.#settle(waiter, () => waiter.reject(this.#failed()))
        resolve(end)
      }
      process.once('exit', onEnd)
      // Without a process id it was never started, and no exit follows. Otherwise a message could not be delivered: the
      // child is ending, and its exit says the rest.
      process.on('error', (error: Error) => {
        if (process.pid !== undefined) return
        this.#failure = `no process could be started: ${error.message}`
        onEnd(null, null)
      })
    })
    process.on('message', (message: FromChild) => this.#hear(message))
  }

  get state(): ChildState {
    return this.#state
  }

  /** Moves on in the child's life; a child that has ended stays so. */
  enter(state: 'serving' | 'draining'): void {
    if (this.#state !== 'ended') this.#state = state
  }

  send(message: ToChild): void {
    if (this.process.connected) this.process.send(message)
  }

  /**
   * Waits for a word that the child must say; one that is late ends it.
   *
   * @throws Error that says why it will never come: the child ended, or was late
   */
  async waitFor(kind: FromChild['kind'], withinMs: number): Promise<void> {
    const onLate = (): void => this.end(`it was not "${kind}" within ${withinMs} ms`)
    await this.#wait((message) => message.kind === kind, withinMs, onLate)
  }

  /**
   * Asks a worker about API keys.
   *
   * @throws Error with the worker's own reason, or when no answer came in time; the worker is left alone then
   */
  async request(question: Question, withinMs: number): Promise<unknown> {
    const id = ++this.#lastId
    const answered = this.#wait((message) => 'id' in message && message.id === id, withinMs)
    this.send({ kind: 'ask', id, question })
    const message = await answered
    if (message.kind === 'unanswered') throw new Error(message.reason)
    return message.kind === 'answer' ? message.answer : undefined
  }

  /** Has it tell its figures, with `stored` the store's as well; resolves when it has, or `withinMs` have passed. */
  async requestStats(stored: boolean, withinMs: number): Promise<void> {
    const told = this.#wait((message) => message.kind === 'figures', withinMs)
    this.send({ kind: 'measure', stored })
    await told.catch(() => {})
  }

  /** Tells it to drain, and ends it if that takes longer than `withinMs`. Resolves when it is gone. */
  async drain(withinMs: number): Promise<void> {
    this.enter('draining')
    this.send({ kind: 'drain' })
    await this.#endAfter(withinMs, `it did not drain within ${withinMs} ms`)
  }

  /** Tells it to clean up and end, and ends it if that takes longer than `withinMs`. Resolves when it is gone. */
  async terminate(withinMs: number): Promise<void> {
    this.process.kill('SIGTERM')
    await this.#endAfter(withinMs, `it did not end within ${withinMs} ms`)
  }

  /** Ends it, since it is not needed any more; nothing is logged. */
  discard(reason: string): void {
    this.#failure ??= `${this} was ended: ${reason}`
    this.process.kill('SIGKILL')
  }

  /** Ends it, for a reason that is logged once. Only `ended` proves that it is gone. */
  end(reason: string): void {
    if (this.#state === 'ended') return
    if (this.#failure === undefined) {
      this.#failure = `${this} was killed: ${reason}`
      this.#log.error({ child: this.process.pid, reason }, 'process killed')
    }
    this.process.kill('SIGKILL')
  }

  toString(): string {
    return `process ${this.process.pid ?? '(none)'}`
  }

  async #endAfter(withinMs: number, reason: string): Promise<void> {
    const timer = setTimeout(() => this.end(reason), withinMs)
    await this.ended
    clearTimeout(timer)
  }

  #hear(message: FromChild): void {
    this.heardMs = performance.now()
    switch (message.kind) {
      case 'loaded':
        this.version = message.version
        break
      case 'heartbeat':
        this.writable = message.writable
        this.storeProblem = message.storeProblem
        break
      case 'figures':
        this.figures = message.figures
        break
      case 'failed':
        this.#failure = message.reason
        break
      case 'broken':
        setTimeout(
          () => this.end('its commits can no longer be trusted, and it did not end by itself'),
          brokenMsMax,
        ).unref()
        break
    }
    for (const waiter of [...this.#waiters]) {
      if (waiter.isFor(message)) this.#settle(waiter, () => waiter.resolve(message))
    }
  }

  #wait(isFor: Waiter['isFor'], withinMs: number, onLate: () => void = () => {}): Promise<FromChild> {
    return new Promise((resolve, reject) => {
      if (this.#state === 'ended') return reject(this.#failed())
      const timer = setTimeout(() => {
        onLate()
        this.#settle(waiter, () => reject(this.#failed(`gave no answer within ${withinMs} ms`)))
      }, withinMs)
      const waiter: Waiter = { isFor, resolve, reject, timer }
      this.#waiters.add(waiter)
    })
  }

  #failed(unless = 'ended'): Error {
    return new Error(this.#failure ?? `${this} ${unless}`)
  }

  #settle(waiter: Waiter, settle: () => void): void {
    clearTimeout(waiter.timer)
    this.#waiters.delete(waiter)
    settle()
  }
}

/** Whether it ended as a process does that reads a damaged file. */
export function isNativeFault({ signal }: End): boolean {
  return signal !== null && nativeFaults.has(signal)
}

function describeEnd(end: End): string {
  const { code, signal } = end
  if (signal === null) return `ended with exit code ${code}`
  return `was ended by ${signal}${isNativeFault(end) ? '; the store may be damaged (see topicd check)' : ''}`
}
