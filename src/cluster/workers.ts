/**
 * The workers of a service: what is wanted (how many, with which settings), what there is (each child's own state), and one
 * function, `#reconcile`, that takes the next step from the one to the other. Everything that changes either calls it: a
 * start, a rolling restart, a worker that serves, a death, a delay that is over. So a death in the middle of a rolling
 * restart, or a signal in the middle of a start, needs no case of its own.
 *
 * Workers are replaced one at a time, and a new one serves for a moment before an old one drains; one that dies meanwhile ends
 * the replacement, and what was wanted before is wanted again. Exactly one of those that serve carries
 * out due removals.
 */
import type { Logger } from '../ops/log.js'
import type { Child, End } from './child.js'
import type { ToChild } from './messages.js'
import { failedStartsMax, RestartPolicy, youngMs } from './restarts.js'
import type { StoreOpener } from './store-opening.js'

/** Loading the code of a worker, on a machine that is busy with everything else. */
const loadMsMax = 60_000

/** Reading the keys and binding the port. */
const serveMsMax = 30_000

/** A heartbeat comes every second: a worker that was silent for so long hangs, and is killed so that it can be replaced. */
const silentMsMax = 20_000

/** Between two looks for silent workers. */
const silenceLookMs = 2000

/** How long a new worker serves before an old one drains in its favour: one whose first requests end it ends here. */
const trialMs = 1000

/** After this much more than it was given, a drain has failed and the worker is killed. */
const drainMsMore = 3000

/** What there should be. Workers that were started for another `Wanted` are replaced, whatever it said. */
export interface Wanted {
  readonly count: number
  /** The first word to each of them. */
  readonly start: Extract<ToChild, { kind: 'start' }>
}

export interface WorkersOptions {
  readonly opener: StoreOpener
  readonly log: Logger
  /** Forks a worker. */
  readonly fork: () => Child
  /** Called when no worker serves and starting more makes no sense. */
  readonly onGivingUp: (reason: string) => void
}

/** A worker, what it was started for, and whether in the place of one that died. */
interface Worker {
  readonly child: Child
  readonly wanted: Wanted
  readonly isReplacement: boolean
  /** When it began to serve, in ms of performance.now(). */
  servedAtMs: number
}

/** Somebody who waits until what is wanted is there. */
interface Change {
  readonly before: Wanted | undefined
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

export class Workers {
  readonly #options: WorkersOptions
  readonly #policy = new RestartPolicy()
  /** Every worker that has not ended, oldest first. */
  readonly #all = new Set<Worker>()
  #wanted: Wanted | undefined
  #change: Change | undefined
  #sweeper: Child | undefined
  /** Deaths in whose place no worker has been started yet. */
  #unreplaced = 0
  #restarts = 0
  #ending = false
  #delay: NodeJS.Timeout | undefined
  #lookedAtMs = performance.now()

  constructor(options: WorkersOptions) {
    this.#options = options
    setInterval(() => this.#killSilent(), silenceLookMs).unref()
  }

  /**
   * Makes `wanted` so: starts what is missing, replaces the workers that were started for something else, drains what is too
   * much. One change at a time. Resolves when all of it serves and nothing else is left.
   *
   * @throws Error when a worker of it ends before it serves; what was wanted before is then wanted again
   */
  reach(wanted: Wanted): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ending) return reject(new Error('the service is stopping'))
      this.#change = { before: this.#wanted, resolve, reject }
      this.#wanted = wanted
      this.#reconcile()
    })
  }

  /** Drains those that serve, ends those that do not serve yet; resolves when all are gone, also those that drained before. */
  async drain(): Promise<void> {
    this.#stopReconciling()
    for (const worker of this.#all) {
      if (worker.child.state === 'starting') worker.child.discard('the service is stopping')
      if (worker.child.state === 'serving') this.#drain(worker)
    }
    await Promise.all([...this.#all].map(({ child }) => child.ended))
  }

  /** Ends all at once. */
  kill(): void {
    this.#stopReconciling()
    for (const { child } of this.#all) child.discard('the service is stopped at once')
  }

  /** Those that serve now, oldest first. */
  serving(): readonly Child[] {
    return this.#inState('serving').map(({ child }) => child)
  }

  /** Workers started in the place of one that died, since the start. */
  get restarts(): number {
    return this.#restarts
  }

  #stopReconciling(): void {
    this.#ending = true
    clearTimeout(this.#delay)
    this.#settleChange((change) => change.reject(new Error('the service is stopping')))
  }

  #inState(state: Child['state']): Worker[] {
    return [...this.#all].filter(({ child }) => child.state === state)
  }

  /** Takes the next step toward what is wanted, if one can be taken now. */
  #reconcile(): void {
    const wanted = this.#wanted
    if (this.#ending || wanted === undefined) return
    this.#electSweeper()
    const serving = this.#inState('serving')
    const outdated = serving.filter((worker) => worker.wanted !== wanted)
    const draining = this.#inState('draining')
    const starting = this.#inState('starting')
    if (serving.length > wanted.count && draining.length === 0) {
      const trialLeftMs = Math.max(...serving.map(({ servedAtMs }) => servedAtMs)) + trialMs - performance.now()
      if (trialLeftMs > 0) this.#reconcileAfter(trialLeftMs)
      else this.#drain(outdated[0] ?? serving[0])
      return
    }
    const missing = wanted.count - (serving.length - outdated.length) - starting.length
    if (missing > 0) {
      // While others are to be replaced, one more than is wanted at a time; but what died is missing at once.
      const isRolling = outdated.length + draining.length > 0
      const vacant = wanted.count - serving.length - starting.length
      const next = starting.length + draining.length === 0 ? 1 : 0
      this.#startSome(wanted, isRolling ? Math.max(vacant, next) : missing)
    } else if (missing === 0 && starting.length + draining.length + outdated.length === 0) {
      this.#settleChange((change) => change.resolve())
    }
  }

  #settleChange(settle: (change: Change) => void): void {
    const change = this.#change
    this.#change = undefined
    if (change !== undefined) settle(change)
  }

  #startSome(wanted: Wanted, count: number): void {
    const delayMs = this.#policy.notBeforeMs - performance.now()
    if (delayMs > 0) return this.#reconcileAfter(delayMs)
    for (let started = 0; started < count; started++) this.#startOne(wanted)
  }

  #reconcileAfter(delayMs: number): void {
    clearTimeout(this.#delay)
    this.#delay = setTimeout(() => this.#reconcile(), delayMs)
  }

  #startOne(wanted: Wanted): void {
    const isReplacement = this.#unreplaced > 0
    if (isReplacement) {
      this.#unreplaced--
      this.#restarts++
    }
    const child = this.#fork()
    if (child === undefined) return
    const worker: Worker = { child, wanted, isReplacement, servedAtMs: NaN }
    this.#all.add(worker)
    const brought = this.#bringUp(worker).then(
      () => undefined,
      (error: Error) => error,
    )
    void worker.child.ended.then(async (end) => this.#onEnd(worker, end, await brought))
  }

  /** A new process; undefined when the machine has none to give, out of memory say: then it is tried again later. */
  #fork(): Child | undefined {
    try {
      return this.#options.fork()
    } catch (error) {
      const nowMs = performance.now()
      this.#options.log.error({ reason: (error as Error).message }, 'worker failed to start')
      this.#policy.onDeath({ nowMs, livedMs: 0, served: false })
      this.#failChange(error as Error)
      this.#reconcileAfter(Math.max(0, this.#policy.notBeforeMs - nowMs))
      return undefined
    }
  }

  /** Load → open → serve. A step that fails ends the child, and its end is what is acted upon. */
  async #bringUp(worker: Worker): Promise<void> {
    const { child, wanted, isReplacement } = worker
    const { opener, log } = this.#options
    await child.waitFor('loaded', loadMsMax)
    child.send(wanted.start)
    await opener.open(child)
    const served = child.waitFor('serving', serveMsMax)
    child.send({ kind: 'serve' })
    await served
    child.enter('serving')
    worker.servedAtMs = performance.now()
    this.#policy.onServing()
    if (isReplacement) log.info({ worker: child.process.pid }, 'worker replaced')
    // What the next step may throw is not this worker's failure.
    setImmediate(() => this.#reconcile())
  }

  #drain(worker: Worker): void {
    void worker.child.drain(worker.wanted.start.config.drainMs + drainMsMore)
    if (!this.#ending) this.#electSweeper()
  }

  /** @param failure why it never served; undefined for one that did */
  #onEnd(worker: Worker, { code, signal, during }: End, failure: Error | undefined): void {
    this.#all.delete(worker)
    if (this.#ending) return
    if (during === 'draining') return this.#reconcile()
    const { child } = worker
    const { log, onGivingUp } = this.#options
    const livedMs = Math.round(performance.now() - child.startedMs)
    this.#unreplaced++
    this.#policy.onDeath({ nowMs: performance.now(), livedMs, served: failure === undefined })
    if (failure === undefined) log.error({ worker: child.process.pid, code, signal, livedMs }, 'worker died')
    else log.error({ worker: child.process.pid, reason: failure.message }, 'worker failed to start')
    if (worker.wanted === this.#wanted && (failure !== undefined || this.#isUnfit(worker))) {
      this.#failChange(failure ?? new Error(`${child} ended (${signal ?? code}) soon after it began to serve`))
    }
    if (this.#policy.isHopeless && this.#inState('serving').length === 0) {
      return onGivingUp(`${failedStartsMax + 1} workers in a row died before they served`)
    }
    this.#reconcile()
  }

  /** Whether a worker that served and died shows that what is to take the place of others cannot do so. */
  #isUnfit({ servedAtMs }: Worker): boolean {
    return this.#change?.before !== undefined && performance.now() - servedAtMs < youngMs
  }

  #failChange(reason: Error): void {
    if (this.#change === undefined) return
    this.#wanted = this.#change.before
    this.#settleChange(({ reject }) => reject(reason))
  }

  /** The first of those that serve carries out due removals. */
  #electSweeper(): void {
    const [first] = this.serving()
    if (first === this.#sweeper) return
    if (this.#sweeper?.state === 'serving') this.#sweeper.send({ kind: 'housekeep', enabled: false })
    this.#sweeper = first
    first?.send({ kind: 'housekeep', enabled: true })
  }

  #killSilent(): void {
    const nowMs = performance.now()
    const sinceMs = nowMs - this.#lookedAtMs
    this.#lookedAtMs = nowMs
    // The whole machine may have stood still, and what workers said since is still unread.
    if (sinceMs > 2 * silenceLookMs) return
    for (const child of this.serving()) {
      const silentMs = Math.round(nowMs - child.heardMs)
      if (silentMs >= silentMsMax) child.end(`it hangs: nothing was heard from it for ${silentMs} ms`)
    }
  }
}
