/**
 * The primary's view of one child process: its state, its last reports, the pending waits for its messages, and its exit.
 * workers.ts and writers.ts decide when a child is started or replaced.
 *
 * A child that does not send a required message in time is useless, so the wait itself kills it. A finished wait leaves
 * no listener or timer behind, because a child may outlive millions of waits.
 */
import type { ChildProcess } from 'node:child_process'
import { within } from '../../base/within.js'
import { type KeyCommand, type KeyRequest, type KeyResponses, NothingDone } from '../../keys/requests.js'
import type { Logger } from '../../ops/log.js'
import type { Metric } from '../../ops/metrics/metric.js'
import { type FromChild, machineMs, type ToChild } from '../messages.js'
import { nativeFaults, shortage } from '../native-faults.js'

/**
 * The states of a child, in this order. A tool stays `starting` until it exits.
 *
 * - starting: from the fork until it serves
 * - serving
 * - draining: it answers the requests in flight, then exits
 * - ended: the process has exited
 */
const states = ['starting', 'serving', 'draining', 'ended'] as const

/** Maximum time for a worker or a writer to load its code, on a busy machine. */
export const loadMsMax = 60_000

type ChildState = (typeof states)[number]

export interface End {
  readonly code: number | null
  readonly signal: string | null
  readonly during: ChildState
  /** True if the primary had told it to open the store. */
  readonly mayHaveRead: boolean
}

interface Waiter {
  readonly isFor: (message: FromChild) => boolean
  readonly resolve: (message: FromChild) => void
  readonly reject: (reason: Error) => void
  readonly timer: NodeJS.Timeout
}

export class Child {
  readonly startedMs = performance.now()
  /** The arrival time of its last message, in ms of performance.now(). */
  heardMs = performance.now()
  /** From its last heartbeat. */
  writable = true
  /** From its last heartbeat; undefined while its store is available. */
  storeProblem: string | undefined
  /** From its last report. */
  metrics: readonly Metric[] | undefined
  /** The version of its build; undefined until it has loaded. */
  version: string | undefined
  /** Resolves when the process has exited, or could not be started at all. */
  readonly ended: Promise<End>

  readonly #waiters = new Set<Waiter>()
  #state: ChildState = 'starting'
  #mayHaveRead = false
  /** The reason why it exited or is being killed; the child's own reason if it sent one. */
  #failure: string | undefined
  #lastId = 0

  constructor(
    readonly process: ChildProcess,
    private readonly log: Logger,
  ) {
    this.ended = new Promise((resolve) => {
      const onEnd = (code: number | null, signal: string | null): void => {
        const end: End = { code, signal, during: this.#state, mayHaveRead: this.#mayHaveRead }
        if (!this.enter('ended')) return
        this.#failure ??= `${this} ${describeEnd(end)}`
        for (const waiter of [...this.#waiters]) this.#settle(waiter, () => waiter.reject(this.#waitError()))
        resolve(end)
      }
      process.once('exit', onEnd)
      // Without a process id, the process was never started and no exit event follows. Otherwise a message could not be
      // delivered: the child is exiting, and its exit event gives the code or the signal.
      process.on('error', (error: Error) => {
        if (this.isStarted) return
        this.#failure = `no process could be started: ${error.message}`
        onEnd(null, null)
      })
    })
    process.on('message', (message: FromChild) => this.#receive(message))
  }

  /** False if no process could be started: if memory or descriptors run out, `fork` still returns a child. */
  get isStarted(): boolean {
    return this.process.pid !== undefined
  }

  get state(): ChildState {
    return this.#state
  }

  /** Returns false and changes nothing if `state` is not later than the current state. */
  enter(state: ChildState): boolean {
    if (states.indexOf(state) <= states.indexOf(this.#state)) return false
    this.#state = state
    return true
  }

  send(message: ToChild): void {
    if (message.kind === 'open') this.#mayHaveRead = true
    if (this.process.connected) this.process.send(message)
  }

  /** Kills a child that is late. @throws Error with the reason why the message will not arrive: the child exited or was late */
  async waitFor(kind: FromChild['kind'], withinMs: number): Promise<void> {
    const onLate = (): void => this.end(`it did not reach "${kind}" within ${withinMs} ms`)
    await this.#wait((message) => message.kind === kind, withinMs, onLate)
  }

  /**
   * Once the wait is over, the child will not start to execute the request.
   *
   * @throws NothingDone or Error with the child's reason; Error if the child exited, or was late (it is not killed)
   */
  async request(request: KeyRequest, withinMs: number): Promise<KeyResponses[KeyCommand]> {
    const untilMs = machineMs() + withinMs
    const message = await this.#ask(withinMs, (id) => ({ kind: 'request', id, request, untilMs }))
    if (message.kind === 'response') return message.response
    if (message.kind !== 'noResponse') throw new Error(`${this} sent an unexpected message`)
    throw message.nothingDone === true ? new NothingDone(message.reason) : new Error(message.reason)
  }

  /**
   * Resolves once the worker uses the changed keys.
   *
   * @param revocation the number of a finished revocation, which no longer suspends its key
   * @throws Error if the worker exited, or did not respond in time (it is not killed)
   */
  async loadKeys(withinMs: number, revocation?: number): Promise<void> {
    await this.#ask(withinMs, (id) => ({ kind: 'keysChanged', id, revocation }))
  }

  /** Sends a message with an id and waits for the reply with the same id. */
  #ask(withinMs: number, messageOf: (id: number) => ToChild): Promise<FromChild> {
    const id = ++this.#lastId
    const answered = this.#wait((message) => 'id' in message && message.id === id, withinMs)
    this.send(messageOf(id))
    return answered
  }

  /** @param stored also requests the store's metrics @returns whether the metrics arrived in time */
  async requestMetrics(stored: boolean, withinMs: number): Promise<boolean> {
    const received = this.#wait(({ kind }) => kind === 'metrics', withinMs)
    this.send({ kind: 'requestMetrics', stored })
    return received.then(
      () => true,
      () => false,
    )
  }

  /** Drains the child, and kills it if that takes longer than `withinMs`. Resolves when it has exited. */
  async drain(withinMs: number): Promise<void> {
    this.enter('draining')
    this.send({ kind: 'drain' })
    await this.#endAfter(withinMs, `it did not drain within ${withinMs} ms`)
  }

  /** Asks the child to clean up and exit; workers and writers ignore this. */
  requestEnd(): void {
    this.process.kill('SIGTERM')
  }

  /** Asks the child to clean up and exit, and kills it if that takes longer than `withinMs`. Resolves when it has exited. */
  async terminate(withinMs: number): Promise<void> {
    this.requestEnd()
    await this.#endAfter(withinMs, `it did not exit within ${withinMs} ms`)
  }

  /** Kills the child because it is no longer needed; nothing is logged. */
  discard(reason: string): void {
    this.#failure ??= `${this} was stopped: ${reason}`
    this.process.kill('SIGKILL')
  }

  /** Kills the child for a reason that is logged once. Only `ended` proves that it has exited. */
  end(reason: string): void {
    if (this.#state === 'ended') return
    if (this.#failure === undefined) {
      this.#failure = `${this} was killed: ${reason}`
      this.log.error({ child: this.process.pid, reason }, 'process killed')
    }
    this.process.kill('SIGKILL')
  }

  toString(): string {
    return `process ${this.process.pid ?? '(none)'}`
  }

  async #endAfter(withinMs: number, reason: string): Promise<void> {
    await within(withinMs, this.ended, () => {
      this.end(reason)
      return this.ended
    })
  }

  #receive(message: FromChild): void {
    this.heardMs = performance.now()
    const { kind } = message
    if (kind === 'loaded') this.version = message.version
    if (kind === 'heartbeat') {
      this.writable = message.writable
      this.storeProblem = message.storeProblem
    }
    if (kind === 'metrics') this.metrics = message.metrics
    if (kind === 'failed') this.#failure = message.reason
    for (const waiter of [...this.#waiters]) {
      if (waiter.isFor(message)) this.#settle(waiter, () => waiter.resolve(message))
    }
  }

  #wait(isFor: Waiter['isFor'], withinMs: number, onLate: () => void = () => {}): Promise<FromChild> {
    return new Promise((resolve, reject) => {
      if (this.#state === 'ended') return reject(this.#waitError())
      const timer = setTimeout(() => {
        onLate()
        this.#settle(waiter, () => reject(this.#waitError(`did not respond within ${withinMs} ms`)))
      }, withinMs)
      const waiter: Waiter = { isFor, resolve, reject, timer }
      this.#waiters.add(waiter)
    })
  }

  /** The reason for a failed wait: the child's failure or, by default, `otherwise`. */
  #waitError(otherwise = 'ended'): Error {
    return new Error(this.#failure ?? `${this} ${otherwise}`)
  }

  #settle(waiter: Waiter, settle: () => void): void {
    clearTimeout(waiter.timer)
    this.#waiters.delete(waiter)
    settle()
  }
}

const silenceCheckMs = 250

/** A check this late means that this process was suspended or starved. */
const lateCheckMs = 1000

/**
 * Watches children for silence. After the primary itself was suspended or starved, messages may still be unread, so silence
 * is counted from then on.
 *
 * @param watched the children that should send heartbeats now
 * @param onSilent called at each check with a child that has been silent for `silentMsMax` or longer, and the duration
 */
export function watchSilence(
  watched: () => readonly Child[],
  silentMsMax: number,
  onSilent: (child: Child, silentMs: number) => void,
): void {
  let checkedAtMs = performance.now()
  let attentiveSinceMs = checkedAtMs
  const check = (): void => {
    const nowMs = performance.now()
    if (nowMs - checkedAtMs > lateCheckMs) attentiveSinceMs = nowMs
    checkedAtMs = nowMs
    for (const child of watched()) {
      const silentMs = nowMs - Math.max(child.heardMs, attentiveSinceMs)
      if (silentMs >= silentMsMax) onSilent(child, Math.round(silentMs))
    }
  }
  setInterval(check, silenceCheckMs).unref()
}

/** True for a signal that a damaged file may cause. Before the first read, such a signal means missing memory or threads. */
export function mayBeDamage({ signal, mayHaveRead }: End): boolean {
  return mayHaveRead && signal !== null && nativeFaults.has(signal)
}

function describeEnd(end: End): string {
  const { code, signal, mayHaveRead } = end
  if (mayBeDamage(end)) {
    return `was killed by ${signal}; the store may be damaged (see topicd check), or its disk is full or failed (see the kernel's log)`
  }
  const how = signal === null ? `exited with status ${code}` : `was killed by ${signal}`
  return mayHaveRead ? how : `${how} before it opened the store${shortage(end, ':')}`
}
