/**
 * The workers of a service: the desired state (their number and settings), the actual state (kept by each child), and one
 * method, `#reconcile`, that takes the next step from the actual to the desired state. Every event calls it: a start, a
 * rolling restart, a worker that starts to serve, a death, the end of a delay. So a death during a rolling restart, or a
 * signal during a start, is not a special case.
 *
 * Workers are replaced one at a time, and each new worker serves for a short trial before an old one drains. If the new
 * worker dies before it serves, or soon after but still during the replacement, the previous desired state is restored.
 */
import type { Logger } from '../../ops/log.js'
import type { Start } from '../messages.js'
import { type Child, type End, loadMsMax, watchSilence } from './child.js'
import { failedStartsMax, RestartPolicy, youngMs } from './restarts.js'
import type { StoreOpener } from './store-opening.js'

/** Maximum time for binding the port and loading the routes, on a busy machine. */
const serveMsMax = 30_000

/** A worker sends a heartbeat every second. One that is silent for this long hangs, and is killed and replaced. */
const silentMsMax = 20_000

/** The time that a new worker serves before an old one drains: a worker killed by its first requests dies within this time. */
const trialMs = 1000

/** Grace period between the drain timeout and SIGKILL. */
const drainGraceMs = 3000

/** The desired state. Workers that were started for a different `Wanted` object are replaced, even if it is equal. */
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
  /** Called when no worker serves and starting more would be pointless. */
  readonly onGivingUp: (reason: string) => void
}

interface Worker {
  readonly child: Child
  readonly wanted: Wanted
  readonly isReplacement: boolean
  /** The time at which it started to serve, in ms of performance.now(). */
  servedAtMs: number
}

interface Change {
  readonly before: Wanted | undefined
  readonly resolve: () => void
  readonly reject: (reason: Error) => void
}

export class Workers {
  readonly #policy = new RestartPolicy()
  /** Every worker that has not exited, oldest first. */
  readonly #all = new Set<Worker>()
  #wanted: Wanted | undefined
  #change: Change | undefined
  /** The number of dead workers without a replacement so far. */
  #unreplaced = 0
  #restarts = 0
  #ending = false
  #delay: NodeJS.Timeout | undefined

  constructor(private readonly options: WorkersOptions) {
    watchSilence(
      () => this.serving(),
      silentMsMax,
      (child, silentMs) => child.end(`it was unresponsive and had sent nothing for ${silentMs} ms`),
    )
  }

  /**
   * Makes `wanted` the desired state: starts missing workers, replaces workers that were started for another state, and
   * drains surplus workers. Only one change runs at a time. Resolves when exactly the wanted workers serve.
   *
   * @throws Error if a new worker exits before it serves, or soon after; the previous desired state is then restored
   */
  reach(wanted: Wanted): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ending) return reject(new Error('the service is stopping'))
      this.#change = { before: this.#wanted, resolve, reject }
      this.#wanted = wanted
      this.#reconcile()
    })
  }

  /** Drains the serving workers and kills the starting ones; resolves when all have exited. */
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
    for (const { child } of this.#all) child.discard('the service is stopped immediately')
  }

  /** The workers that serve now, oldest first. */
  serving(): readonly Child[] {
    return this.#inState('serving').map(({ child }) => child)
  }

  /** The workers that may have read the API keys: all running workers that have loaded their code. */
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
      // The oldest outdated worker or, if there is no outdated one, the oldest worker.
      const [oldest] = [...outdated, ...serving]
      return oldest && this.#drain(oldest)
    }
    const missing = wanted.count - (serving.length - outdated.length) - starting.length
    if (missing > 0) {
      // A rolling restart starts one extra worker at a time, but immediately replaces every dead one.
      const isRolling = outdated.length + draining.length > 0
      const vacant = wanted.count - serving.length - starting.length
      const next = starting.length + draining.length === 0 ? 1 : 0
      this.#startSome(wanted, isRolling ? Math.max(vacant, next) : missing)
    } else if (missing === 0 && starting.length + draining.length + outdated.length === 0) {
      // A worker that died without being missed, such as the first of a failed reload, gets no replacement.
      this.#unreplaced = 0
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

  /** A new process. Undefined if it cannot be started, for example because memory ran out; another attempt is then scheduled. */
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

  /** Load → open → serve. If a step fails, the child exits, and `#onEnd` handles the failure. */
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

  /** @param failure the reason why the worker never served; undefined if it served */
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
      this.#failChange(failure ?? new Error(`${child} exited (${signal ?? code}) soon after it started to serve`))
    }
    if (this.#policy.isHopeless && this.#inState('serving').length === 0) {
      return onGivingUp(`${failedStartsMax + 1} workers in a row died before they served`)
    }
    this.#reconcile()
  }

  /** Whether the death of a worker that served counts as a failure of the replacement in progress. */
  #isUnfit({ servedAtMs }: Worker): boolean {
    return this.#change?.before !== undefined && performance.now() - servedAtMs < youngMs
  }

  #failChange(reason: Error): void {
    if (this.#change === undefined) return
    this.#wanted = this.#change.before
    this.#settleChange(({ reject }) => reject(reason))
  }
}
