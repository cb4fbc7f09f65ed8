/**
 * Every write to disk passes through here: it waits while writes are paused, or while the disk has room only for those
 * in flight; it is refused when the disk has none, counted while in flight, and watched.
 *
 * States: open (writes pass the gate to lmdb, which makes one transaction of what passes in one turn) → paused (writes
 * in flight, those at the gate included, finish; later ones wait) → open again; from either, closed (writes in flight
 * finish, all others are rejected).
 *
 * A commit that fails, or never completes, breaks the store for good: retrying a failed fsync proves nothing.
 * `onBroken` is then called once, writes that have not been passed to lmdb are rejected, and the process is expected to
 * end. A defect in a write's own code is not a failed commit: the write is rejected with that error, and the store
 * continues.
 */
import { createHistogram, secondsBounds } from '../../histogram.js'
import { commitDeadlineMs } from '../../limits.js'
import { turnMs } from '../../turn-clock.js'
import { batchBounds, CommitFailed, type CommitStats, StoreError } from '../store.js'
import { type DiskRoom, smallWrite, type WriteSize } from './disk-room.js'
import { Gate } from './gate.js'

/**
 * A failed commit rejects more promises than can be handled here: that of each write, that of the turn's batch, which
 * lmdb does not expose, and one more, which each of these has in its reason as `commitError`.
 */
interface CommitReason extends Error {
  readonly commitError: Promise<never>
}

function isCommitReason(reason: unknown): reason is CommitReason {
  return reason instanceof Error && 'commitError' in reason
}

/**
 * LMDB's own errors carry its numeric code: one thrown while a transaction's callback writes, such as that of a full
 * map, leaves the transaction in doubt as a failed commit does. Node's system errors have a `code` too, but a string.
 */
function isLmdbError(reason: unknown): boolean {
  return reason instanceof Error && 'code' in reason && typeof reason.code === 'number'
}

/**
 * From now on, an unhandled rejection that belongs to a failed commit does not end this process: the promise is lmdb's
 * own, and each failed write has its own rejected promise. Every other unhandled rejection is a defect and becomes an
 * uncaught exception, as it would by default. To be called once in a process that opens a store.
 */
export function ignoreUnheardCommitFailures(): void {
  process.on('unhandledRejection', (reason) => {
    if (!isCommitReason(reason)) throw reason
  })
}

function closedError(): StoreError {
  return new StoreError('unavailable', 'the store is closed')
}

function brokenError(): CommitFailed {
  return new CommitFailed('the store no longer commits')
}

type Room = Pick<DiskRoom, 'reserve' | 'release' | 'close'>

/** A write until it is passed to lmdb. */
interface Write {
  readonly size: WriteSize
  readonly enqueue: () => Promise<boolean>
  /** Settles its promise, with whether its condition held. */
  readonly resolve: (done: boolean) => void
  readonly reject: (reason: unknown) => void
}

/** A write in flight. */
interface Flight {
  readonly operations: number
  readonly startedAt: number
  readonly reservedBytes: number
}

export class Commits {
  readonly #onBroken: (reason: Error) => void
  readonly #room: Room | undefined
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batchSizes = createHistogram(batchBounds)
  /** Writes that completed in this turn: one batch, since lmdb settles a whole commit within a turn. */
  #batch = 0
  readonly #stats = { writes: 0, failed: 0, inFlight: 0 }
  #progressAt = 0
  readonly #gate = new Gate()
  /** Writes that may not be passed to lmdb yet, in their order. */
  readonly #waiting: Write[] = []
  #paused = false
  /** Whether those that wait are looked at again in this turn. */
  #admitsSoon = false
  #waitingForDrain: (() => void)[] = []
  #closed = false
  #broken = false
  readonly #watch: NodeJS.Timeout

  /** At any moment, `writes` is the number of those in `batches` and those `inFlight`. */
  readonly stats: CommitStats

  /**
   * @param onBroken called once, with the reason, when commits can no longer be trusted
   * @param room on the disk; without it, every write is admitted
   */
  constructor(onBroken: (reason: Error) => void, room?: Room) {
    this.#onBroken = onBroken
    this.#room = room
    this.stats = Object.assign(this.#stats, {
      seconds: this.#seconds,
      // A batch is complete before the next turn begins, so a reader in that turn may end it before `#endBatch` runs.
      batches: {
        read: () => {
          this.#endBatch()
          return this.#batchSizes.read()
        },
      },
    })
    this.#watch = setInterval(() => this.#checkProgress(), commitDeadlineMs / 10)
    this.#watch.unref()
  }

  /**
   * Executes a conditional write. `enqueue` must only pass writes to lmdb, all in one turn; it is called in this turn
   * or a later one (gate.ts).
   *
   * @returns `outcome` once the write is on disk; when its condition did not hold, so that nothing happened, what
   *   `otherwise` then returns, or undefined without one
   * @throws CommitFailed when the commit failed (one that never completes settles nothing: it ends the worker);
   *   StoreError of the kind `full` when the disk has no room for the write, or `unavailable` when the store has been
   *   closed; any other error of `enqueue`, or of a transaction's callback in it, unchanged; whatever `otherwise`
   *   rejects with
   */
  run<T, U = undefined>(
    outcome: T,
    enqueue: () => Promise<boolean>,
    size = smallWrite,
    otherwise?: () => Promise<U>,
  ): Promise<T | U> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closedError())
      if (this.#broken) return reject(brokenError())
      const settle = (done: boolean): void => resolve(done ? outcome : (otherwise?.() as Promise<U>))
      this.#waiting.push({ size, enqueue, resolve: settle, reject })
      if (this.#waiting.length === 1) this.#admit()
    })
  }

  /** Starts the writes that wait, in their order, until one has to go on waiting. */
  #admit(): void {
    this.#admitsSoon = false
    while (!this.#paused) {
      const [next] = this.#waiting
      if (next === undefined) return
      const reservedBytes = this.#room?.reserve(next.size) ?? 0
      if (reservedBytes === 'later') return
      this.#waiting.shift()
      if (reservedBytes === 'full') next.reject(new StoreError('full', 'the disk is nearly full'))
      else this.#start(next, reservedBytes)
    }
  }

  #start({ size: { operations }, enqueue, resolve, reject }: Write, reservedBytes: number): void {
    const flight = { operations, startedAt: turnMs(), reservedBytes }
    const inFlight = this.#stats.inFlight > 0
    this.#stats.inFlight += operations
    if (!inFlight) this.#progressAt = flight.startedAt
    this.#stats.writes += operations
    const onDone = (done: boolean): void => {
      this.#settle(flight)
      resolve(done)
    }
    const onFailed = (cause: unknown): void => reject(this.#errorFor(flight, cause))
    this.#gate.pass(() => {
      if (this.#broken) return reject(this.#withdrawn(flight))
      try {
        void enqueue().then(onDone, onFailed)
      } catch (error) {
        onFailed(error)
      }
    }, inFlight)
  }

  /** For how long writes have been in flight without any commit completing, in ms. */
  readonly waitMs = (): number => (this.#stats.inFlight > 0 ? performance.now() - this.#progressAt : 0)

  /** Later writes wait until `resumeWrites`; resolves once no write is in flight. */
  pauseWrites(): Promise<void> {
    this.#paused = true
    return this.#drained()
  }

  resumeWrites(): void {
    this.#paused = false
    this.#admit()
  }

  /**
   * Rejects every write from now on, waiting ones included; resolves once no write is in flight, and stops watching.
   */
  async close(): Promise<void> {
    this.#closed = true
    this.#rejectWaiting(closedError)
    await this.#drained()
    clearInterval(this.#watch)
    this.#room?.close()
  }

  #rejectWaiting(reason: () => StoreError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason())
  }

  /** The writes of one commit settle in one turn, the one that has waited longest first. */
  #settle(flight: Flight): void {
    if (this.#batch === 0) {
      this.#progressAt = performance.now()
      this.#seconds.record((this.#progressAt - flight.startedAt) / 1000)
      setImmediate(this.#endBatch)
    }
    this.#batch += flight.operations
    this.#leave(flight)
  }

  readonly #endBatch = (): void => {
    if (this.#batch > 0) this.#batchSizes.record(this.#batch)
    this.#batch = 0
  }

  /** What the caller of a write that failed gets; it is counted as failed unless the failure is a defect of ours. */
  #errorFor(flight: Flight, cause: unknown): unknown {
    if (!isCommitReason(cause) && !isLmdbError(cause)) {
      this.#withdraw(flight)
      return cause
    }
    this.#settle(flight)
    this.#stats.failed += flight.operations
    if (isCommitReason(cause)) cause.commitError.catch(() => {})
    const error = new CommitFailed('a commit failed', { cause })
    this.#reportOnce(error)
    return error
  }

  /** The error of a write that was still at the gate when the store broke; it is no longer counted. */
  #withdrawn(flight: Flight): CommitFailed {
    this.#withdraw(flight)
    return brokenError()
  }

  /** Takes back the count of a write that failed by a defect of ours, or that never reached lmdb. */
  #withdraw(flight: Flight): void {
    this.#stats.writes -= flight.operations
    this.#leave(flight)
  }

  #leave({ operations, reservedBytes }: Flight): void {
    this.#room?.release(reservedBytes)
    this.#stats.inFlight -= operations
    if (this.#waiting.length > 0 && !this.#admitsSoon) {
      this.#admitsSoon = true
      setImmediate(() => this.#admit())
    }
    if (this.#stats.inFlight > 0) return
    const waiting = this.#waitingForDrain
    this.#waitingForDrain = []
    for (const resolve of waiting) resolve()
  }

  #drained(): Promise<void> {
    if (this.#stats.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waitingForDrain.push(resolve))
  }

  #checkProgress(): void {
    if (this.waitMs() > commitDeadlineMs) {
      this.#reportOnce(new CommitFailed(`no commit completed within ${commitDeadlineMs} ms`))
    }
  }

  #reportOnce(reason: Error): void {
    if (this.#broken) return
    this.#broken = true
    this.#rejectWaiting(brokenError)
    this.#onBroken(reason)
  }
}
