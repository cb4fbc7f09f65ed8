/**
 * The workers of a service: the desired state (how many, with which settings), the actual state (each child's own), and
 * one method, `#reconcile`, that takes the next step from the one to the other. Every event calls it: a start, a
 * rolling restart, a worker that begins to serve, a death, the end of a delay. So a death during a rolling restart, or
 * a signal during a start, is not a special case.
 *
 * Workers are replaced one at a time, and a new one serves for a moment before an old one drains. If it dies before it
 * serves, or young while the replacement is in progress, the former desired state is restored.
 */
import type { Logger } from '../../ops/log.js'
import type { Start } from '../messages.js'
import { type Child, type End, loadMsMax, watchSilence } from './child.js'
import { failedStartsMax, RestartPolicy, youngMs } from './restarts.js'
import type { StoreOpener } from './store-opening.js'

/** How long binding the port and loading the routes may take, on a busy machine. */
const serveMsMax = 30_000

/** A heartbeat comes every second: a worker that is silent for this long hangs, and is killed and replaced. */
const silentMsMax = 20_000

/** How long a new worker serves before an old one drains: if its first requests kill it, it dies within this time. */
const trialMs = 1000

/** Grace after the drain time-out, before SIGKILL. */
const drainGraceMs = 3000

/** The desired state. Workers that were started for another `Wanted` are replaced, even if it was equal. */
export interface Wanted {
  readonly count: number
  readonly start: Start
}

interface WorkersOptions {
  readonly opener: StoreOpener
  readonly log: Logger
  readonly fork: (wanted: Wanted) => Child
  /** Called when a worker has opened the store, before it serves. */
  readonly onOpened: (worker: Child) => void
  /** Called when no worker serves and starting more makes no sense. */
  readonly onGivingUp: (reason: string) => void
}

interface Worker {
  readonly child: Child
  readonly wanted: Wanted
  readonly isReplacement: boolean
  /** When it began to serve, in ms of performance.now(). */
  servedAtMs: number
}

interface Change {
  readonly before: Wanted | undefined
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

export class Workers {
  readonly #policy = new RestartPolicy()
  /** Every worker that has not ended, oldest first. */
  readonly #all = new Set<Worker>()
  #wanted: Wanted | undefined
  #change: Change | undefined
  /** Dead workers in whose place none has been started yet. */
  #unreplaced = 0
  #restarts = 0
  #ending = false
  #delay: NodeJS.Timeout | undefined

  constructor(private readonly options: WorkersOptions) {
    watchSilence(
      () => this.serving(),
      silentMsMax,
      (child, silentMs) => child.end(`it hangs: nothing was heard from it for ${silentMs} ms`),
    )
  }

  /**
   * Makes `wanted` the desired state: starts missing workers, replaces those that were started for another one, drains
   * surplus ones. One change at a time. Resolves when all of them serve and no others are left.
   *
   * @throws Error when one of the new workers ends before it serves, or soon after; the former desired state is then
   *   restored
   */
  reach(wanted: Wanted): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ending) return reject(new Error('the service is stopping'))
      this.#change = { before: this.#wanted, resolve, reject }
      this.#wanted = wanted
      this.#reconcile()
    })
  }

  /** Drains those that serve and kills those that are starting; resolves when all are gone, drained ones included. */
  async drain(): Promise<void> {
    this.#stopReconciling()
    for (const worker of this.#all) {
      if (worker.child.state === 'starting') worker.child.discard('the service is stopping')
      if (worker.child.state === 'serving') this.#drain(worker)
    }
    await Promise.all([...this.#all].map(({ child }) => child.ended))
  }

  kill(): void {
    this.#stopReconciling()
    for (const { child } of this.#all) child.discard('the service is stopped at once')
  }

  /** The workers that serve now, oldest first. */
  serving(): readonly Child[] {
    return this.#inState('serving').map(({ child }) => child)
  }

  /** The workers that may have read the API keys: all that have loaded their code, and run. */
  loaded(): readonly Child[] {
    return [...this.#all].map(({ child }) => child).filter(({ version }) => version !== undefined)
  }

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

  #reconcile(): void {
    const wanted = this.#wanted
    if (this.#ending || wanted === undefined) return
    const serving = this.#inState('serving')
    const outdated = serving.filter((worker) => worker.wanted !== wanted)
    const draining = this.#inState('draining')
    const starting = this.#inState('starting')
    if (serving.length > wanted.count && draining.length === 0) {
      const trialLeftMs = Math.max(...serving.map(({ servedAtMs }) => servedAtMs)) + trialMs - performance.now()
      if (trialLeftMs > 0) return this.#reconcileAfter(trialLeftMs)
      // The oldest, of the outdated ones if there are any.
      const [oldest] = [...outdated, ...serving]
      return oldest && this.#drain(oldest)
    }
    const missing = wanted.count - (serving.length - outdated.length) - starting.length
    if (missing > 0) {
      // A rolling restart starts one extra worker at a time, but replaces all that died at once.
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
    const child = this.#fork(wanted)
    if (child === undefined) return
    const isReplacement = this.#unreplaced > 0
    if (isReplacement) this.#unreplaced--
    if (isReplacement && child.isStarted) this.#restarts++
    const worker: Worker = { child, wanted, isReplacement, servedAtMs: NaN }
    this.#all.add(worker)
    const brought = this.#bringUp(worker).then(
      () => undefined,
      (error: Error) => error,
    )
    void worker.child.ended.then(async (end) => this.#onEnd(worker, end, await brought))
  }

  /** A new process. Undefined when it cannot be started, as for lack of memory: then another attempt is scheduled. */
  #fork(wanted: Wanted): Child | undefined {
    try {
      return this.options.fork(wanted)
    } catch (error) {
      const nowMs = performance.now()
      this.options.log.error({ reason: (error as Error).message }, 'worker failed to start')
      this.#policy.onDeath({ nowMs, livedMs: 0, served: false })
      this.#failChange(error as Error)
      this.#reconcileAfter(Math.max(0, this.#policy.notBeforeMs - nowMs))
      return undefined
    }
  }

  /** Load → open → serve. A step that fails ends the child; `#onEnd` handles that. */
  async #bringUp(worker: Worker): Promise<void> {
    const { child, wanted, isReplacement } = worker
    const { opener, log, onOpened } = this.options
    await child.waitFor('loaded', loadMsMax)
    child.send(wanted.start)
    await opener.open(child)
    onOpened(child)
    const served = child.waitFor('serving', serveMsMax)
    child.send({ kind: 'serve' })
    await served
    child.enter('serving')
    worker.servedAtMs = performance.now()
    this.#policy.onServing()
    if (isReplacement) log.info({ worker: child.process.pid }, 'worker replaced')
    // An error in the next step is not this worker's failure.
    setImmediate(() => this.#reconcile())
  }

  #drain(worker: Worker): void {
    void worker.child.drain(worker.wanted.start.config.drainMs + drainGraceMs)
  }

  /** @param failure why it never served; undefined for one that did */
  #onEnd(worker: Worker, { code, signal, during }: End, failure: Error | undefined): void {
    this.#all.delete(worker)
    if (this.#ending) return
    if (during === 'draining') return this.#reconcile()
    const { child } = worker
    const { log, onGivingUp } = this.options
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

  /** True if the death of a worker that served counts as a failure of the replacement in progress. */
  #isUnfit({ servedAtMs }: Worker): boolean {
    return this.#change?.before !== undefined && performance.now() - servedAtMs < youngMs
  }

  #failChange(reason: Error): void {
    if (this.#change === undefined) return
    this.#wanted = this.#change.before
    this.#settleChange(({ reject }) => reject(reason))
  }
}
