/**
 * Every write to disk passes through here: it waits while writes are paused, or while the disk has room only for those
 * in flight; it is refused when the disk has none, counted while in flight, and watched.
 *
 * A write is a function that runs in the callback of a transaction, under the write lock of all processes: it reads,
 * decides and writes. Those that wait for the lock share one callback, up to a bound: lmdb would run all callbacks that
 * wait in one go, however many they are, so there is only one.
 *
 * States: open (writes join the next transaction) → paused (writes in flight finish; later ones wait) → open again; from
 * either, closed (writes in flight finish, all others are rejected).
 *
 * A commit that fails, or never completes, breaks the store for good: retrying a failed fsync proves nothing.
 * `onBroken` is then called once, writes that have not joined a transaction are rejected, and the process is expected to
 * end. A defect in a write's own code is not a failed commit: the write is rejected with that error, and the store
 * continues.
 */
import { createHistogram, secondsBounds } from '../../histogram.js'
import { commitDeadlineMs, operationsInOneCallbackMax } from '../../limits.js'
import { turnMs } from '../../turn-clock.js'
import { batchBounds, CommitFailed, type CommitStats, StoreError } from '../store.js'
import { type DiskRoom, smallWrite, type WriteSize } from './disk-room.js'
import type { TopicChanges } from './topic-changes.js'

/**
 * A failed commit rejects more promises than can be handled here: that of the transaction, that of the turn's batch,
 * which lmdb does not expose, and one more, which each of these has in its reason as `commitError`.
 */
interface CommitReason extends Error {
  readonly commitError: Promise<never>
}

function isCommitReason(reason: unknown): reason is CommitReason {
  return reason instanceof Error && 'commitError' in reason
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

/**
 * What a write does in a transaction. It decides first and writes last: it may throw only as long as it has written
 * nothing.
 */
type Work<T> = (changes: TopicChanges) => T

/** lmdb's transactions, or a test's. */
interface Transactions {
  /** Calls `callback` in a transaction; resolves once that is on disk. */
  readonly transact: (callback: () => void) => Promise<unknown>
  /** The changes of topics in the transaction whose callback is running. */
  readonly begin: () => TopicChanges
}

/** A write until it joins a transaction. */
interface Write {
  readonly size: WriteSize
  /** Does its work in the transaction, and keeps what comes of it. */
  readonly execute: (changes: TopicChanges) => void
  /** Whether its work failed, so that nothing of it was written. */
  readonly hasFailed: () => boolean
  /** Settles its promise with what its work came to. */
  readonly settle: () => void
  readonly reject: (reason: unknown) => void
}

/** A write in flight. */
interface Flight {
  readonly write: Write
  readonly startedAt: number
  readonly reservedBytes: number
}

/** Writes that share a callback. */
interface Group {
  readonly flights: Flight[]
  operations: number
}

export class Commits {
  readonly #transactions: Transactions
  readonly #onBroken: (reason: Error) => void
  readonly #room: Room | undefined
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batchSizes = createHistogram(batchBounds)
  readonly #stats = { writes: 0, failed: 0, inFlight: 0 }
  #progressAt = 0
  /** The group whose callback has not been called yet. */
  #group: Group | undefined
  /** Writes that may not join a transaction yet, in their order. */
  readonly #waiting: Write[] = []
  #paused = false
  /** Whether `#admit` is scheduled. */
  #admitsSoon = false
  #waitingForDrain: (() => void)[] = []
  #closed = false
  #broken = false
  readonly #watch: NodeJS.Timeout

  /** At any moment, `writes` is the number of those in `batches` and those `inFlight`. */
  readonly stats: CommitStats = Object.assign(this.#stats, { seconds: this.#seconds, batches: this.#batchSizes })

  /**
   * @param onBroken called once, with the reason, when commits can no longer be trusted
   * @param room on the disk; without it, every write is admitted
   */
  constructor(transactions: Transactions, onBroken: (reason: Error) => void, room?: Room) {
    this.#transactions = transactions
    this.#onBroken = onBroken
    this.#room = room
    this.#watch = setInterval(() => this.#checkProgress(), commitDeadlineMs / 10)
    this.#watch.unref()
  }

  /**
   * Has the work done in a transaction, of this turn or a later one.
   *
   * @returns what the work returned, once its transaction is on disk
   * @throws CommitFailed when the commit failed (one that never completes settles nothing: it ends the worker);
   *   StoreError of the kind `full` when the disk has no room for the write, or `unavailable` when the store has been
   *   closed; an error of the work itself, unchanged
   */
  run<T>(work: Work<T>, size = smallWrite): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closedError())
      if (this.#broken) return reject(brokenError())
      this.#waiting.push(createWrite(work, size, resolve, reject))
      if (this.#waiting.length === 1) this.#admit()
    })
  }

  /** Starts the writes that wait, in their order, until one has to go on waiting. */
  #admit(): void {
    this.#admitsSoon = false
    while (!this.#paused) {
      const [next] = this.#waiting
      if (next === undefined) return
      // The group's callback will admit further ones.
      if (this.#group !== undefined && this.#group.operations >= operationsInOneCallbackMax) return
      const reservedBytes = this.#room?.reserve(next.size) ?? 0
      if (reservedBytes === 'later') return
      this.#waiting.shift()
      if (reservedBytes === 'full') next.reject(new StoreError('full', 'the disk is nearly full'))
      else this.#start(next, reservedBytes)
    }
  }

  #start(write: Write, reservedBytes: number): void {
    const { operations } = write.size
    const flight = { write, startedAt: turnMs(), reservedBytes }
    if (this.#stats.inFlight === 0) this.#progressAt = flight.startedAt
    this.#stats.inFlight += operations
    this.#stats.writes += operations
    const group = this.#openGroup()
    group.flights.push(flight)
    group.operations += operations
  }

  /** The group whose callback has not been called yet. */
  #openGroup(): Group {
    if (this.#group !== undefined) return this.#group
    const group: Group = { flights: [], operations: 0 }
    this.#group = group
    this.#transactions
      .transact(() => this.#execute(group))
      .then(
        () => this.#complete(group),
        (cause) => this.#fail(group, cause),
      )
    return group
  }

  /** Within the transaction. */
  #execute(group: Group): void {
    this.#group = undefined
    if (this.#waiting.length > 0) this.#admitSoon()
    if (this.#broken) return
    const changes = this.#transactions.begin()
    for (const { write } of group.flights) write.execute(changes)
    changes.put()
  }

  #admitSoon(): void {
    if (this.#admitsSoon) return
    this.#admitsSoon = true
    setImmediate(() => this.#admit())
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

  #complete({ flights }: Group): void {
    for (const flight of flights) {
      if (flight.write.hasFailed()) this.#stats.writes -= flight.write.size.operations
    }
    this.#record(flights.filter(({ write }) => !write.hasFailed()))
    for (const flight of flights) {
      this.#leave(flight)
      flight.write.settle()
    }
  }

  /** Counts a commit of these writes, whether it succeeded or not. */
  #record(flights: readonly Flight[]): void {
    this.#progressAt = performance.now()
    const [oldest] = flights
    if (oldest === undefined) return
    this.#seconds.record((this.#progressAt - oldest.startedAt) / 1000)
    this.#batchSizes.record(flights.reduce((sum, { write }) => sum + write.size.operations, 0))
  }

  #fail(group: Group, cause: unknown): void {
    const { flights } = group
    // lmdb may refuse a transaction before it calls anything.
    if (this.#group === group) this.#group = undefined
    const isCommit = isCommitReason(cause)
    if (isCommit) cause.commitError.catch(() => {})
    const error = isCommit ? new CommitFailed('a commit failed', { cause }) : cause
    if (isCommit) this.#record(flights)
    for (const flight of flights) {
      const { operations } = flight.write.size
      if (isCommit) this.#stats.failed += operations
      else this.#stats.writes -= operations
      this.#leave(flight)
      flight.write.reject(error)
    }
    if (error instanceof CommitFailed) this.#reportOnce(error)
  }

  #leave({ write, reservedBytes }: Flight): void {
    this.#room?.release(reservedBytes)
    this.#stats.inFlight -= write.size.operations
    if (this.#waiting.length > 0) this.#admitSoon()
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

function createWrite<T>(
  work: Work<T>,
  size: WriteSize,
  resolve: (outcome: T) => void,
  reject: (reason: unknown) => void,
): Write {
  let settle = (): void => reject(brokenError())
  let failed = true
  return {
    size,
    execute(changes) {
      try {
        const outcome = work(changes)
        settle = () => resolve(outcome)
        failed = false
      } catch (error) {
        // It has written nothing. After an error of LMDB's own, the commit fails as well.
        settle = () => reject(error)
      }
    },
    hasFailed: () => failed,
    settle: () => settle(),
    reject,
  }
}
