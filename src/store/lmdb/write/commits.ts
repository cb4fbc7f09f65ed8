/**
 * Every change of the environment passes through here: it waits for its turn, for room on the disk, and while writes are
 * paused; then it shares a transaction with all that wait, up to a bound.
 *
 * A write is a function that runs in a transaction: it reads, decides and writes. Transactions are synchronous, since
 * this process has nothing else to do, and no other process writes: collect what came in one turn of the event loop →
 * begin → each write in its order → commit, which returns once all of it is on disk → answer them all.
 *
 * A transaction that fails breaks the store for good: retrying a failed fsync proves nothing. `onBroken` is then called
 * once, every write is rejected, and the process is expected to end.
 */
import { createHistogram, secondsBounds } from '../../../base/histogram.js'
import { PacedBound } from '../../../base/paced-bound.js'
import { turnMs } from '../../../base/turn-clock.js'
import { operationsInOneCommitMax } from '../../../settings/limits.js'
import { StoreError } from '../../errors.js'
import { batchBounds, type CommitStats } from '../../monitoring.js'
import { type DiskRoom, smallWrite, type WriteSize } from './disk-room.js'
import type { TopicChanges } from './topic-changes.js'

/**
 * Bytes of operations that one transaction carries out, exceeded by at most one request: a slow disk writes them well within
 * the time after which a writer counts as hanging.
 */
export const bytesInOneCommitMax = 32 * 1024 * 1024

/**
 * For how long a transaction executes writes, exceeded by at most one: those of its group that are left join a later one. What
 * decides them may cost far more than what is written, and a writer that is busy for long counts as hanging.
 */
export const executionMsMax = 200

/**
 * The share of the last transaction's writes that the next one waits for: those whose answers have just left are likely to
 * be followed by others. A commit costs some 0.5 ms, however few writes share it.
 */
const gatheredShare = 0.9

/** For how many times as long as the last transaction took, and for how long at most. */
const gatheringFactor = 2
const gatheringMsMax = 3

type Room = Pick<DiskRoom, 'begin' | 'admit'>

/** What a write does in a transaction. If it throws before it has written anything, only this write fails. */
type Work<T> = (changes: TopicChanges) => T

/** A write with a bound on what it adds to the file. */
export interface Task<T> {
  readonly work: Work<T>
  readonly size: WriteSize
}

/** lmdb's transactions, or a test's. */
interface Transactions {
  /** Calls `callback` in a transaction, and returns once that is on disk; throws when it is not, or may not be. */
  readonly transact: (callback: () => void) => void
  /** The changes of topics in the transaction whose callback is running. */
  readonly begin: () => TopicChanges
  /** Called last in each transaction: writes what belongs to it as a whole. */
  readonly end?: () => void
  /** Called once it is on disk, before its writes are settled. */
  readonly committed?: () => void
}

/** A write on its way to the disk. */
interface Write {
  readonly size: WriteSize
  /** Does the write's work in the transaction, and keeps what came of it. Must not throw. */
  execute(changes: TopicChanges): void
  /** Called once: when its transaction is on disk; or with the reason why there is none, or its outcome is unknown. */
  settle(failure?: StoreError): void
}

interface Waiting {
  readonly write: Write
  readonly sinceMs: number
}

export class Commits {
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batchSizes = createHistogram(batchBounds)
  readonly #stats = { writes: 0, failed: 0, inFlight: 0 }
  /** Writes that have not joined a transaction, in their order. */
  #waiting: Waiting[] = []
  #isScheduled = false
  /** Runs while more writes are expected before the next transaction. */
  #gathering: NodeJS.Timeout | undefined
  /** How many writes the last transaction had, and how long it took. */
  #last = { writes: 0, tookMs: 0 }
  /** Of the next transaction: on a slow disk, the most would take so long that this process counts as hanging. */
  readonly #operationsMax = new PacedBound(operationsInOneCommitMax)
  #isPaused = false
  #closed = false
  #broken = false
  #onDrained: (() => void)[] = []

  /** Between two turns of the event loop, `writes` is the number of those in `batches` and those `inFlight`. */
  readonly stats: CommitStats = Object.assign(this.#stats, { seconds: this.#seconds, batches: this.#batchSizes })

  /**
   * @param onBroken called once, with the reason, when commits can no longer be trusted
   * @param room on the disk; without it, every write is admitted
   */
  constructor(
    private readonly transactions: Transactions,
    private readonly onBroken: (reason: Error) => void,
    private readonly room?: Room,
  ) {}

  /**
   * Has the work done in a later transaction.
   *
   * @returns what the work returned, once its transaction is on disk
   * @throws StoreError of the kind `unknown_outcome` when the commit failed, `full` when the disk has no room for the write,
   *   or `unavailable` when the store has been closed; an error of the work itself, unchanged
   */
  run<T>(work: Work<T>, size = smallWrite): Promise<T> {
    return new Promise((resolve, reject) => {
      let settleDone = (): void => {}
      this.submit({
        size,
        execute(changes) {
          try {
            const outcome = work(changes)
            settleDone = () => resolve(outcome)
          } catch (error) {
            settleDone = () => reject(error)
          }
        },
        settle: (failure) => (failure === undefined ? settleDone() : reject(failure)),
      })
    })
  }

  /** As `run`, for a write that keeps what came of it. */
  submit(write: Write): void {
    if (this.#closed) return write.settle(closedError())
    if (this.#broken) return write.settle(brokenError())
    this.#waiting.push({ write, sinceMs: turnMs() })
    this.#stats.inFlight += write.size.operations
    this.#stats.writes += write.size.operations
    this.#schedule()
  }

  /**
   * Carries out what waits, as far as one transaction does, so that pauses in quick succession do not hold writes up. Later
   * writes wait until `resumeWrites`; no transaction is open meanwhile.
   */
  pauseWrites(): void {
    this.#commitNext()
    this.#isPaused = true
  }

  resumeWrites(): void {
    this.#isPaused = false
    this.#schedule()
  }

  /** Rejects every write from now on; resolves once those that wait are on disk, or at once when they are paused. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isPaused) this.#rejectWaiting(closedError)
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#onDrained.push(resolve))
  }

  /** A transaction at the end of this turn or, while clearly fewer writes wait than the last one had, a little later. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || this.#waiting.length === 0) return
    const { writes, tookMs } = this.#last
    if (this.#waiting.length >= gatheredShare * writes || this.#stats.inFlight >= this.#operationsMax.value) {
      this.#isScheduled = true
      setImmediate(() => this.#commitNext())
    } else {
      const waitMs = Math.min(gatheringFactor * tookMs, gatheringMsMax)
      this.#gathering ??= setTimeout(() => this.#commitNext(), waitMs)
    }
  }

  #commitNext(): void {
    this.#isScheduled = false
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    if (this.#isPaused || this.#waiting.length === 0) return
    const { group, refused } = this.#takeGroup()
    for (const { write } of refused) {
      this.#stats.writes -= write.size.operations
      this.#leave(write, new StoreError('full', 'the disk is nearly full'))
    }
    if (group.length > 0) this.#commit(group)
    this.#schedule()
    if (this.#waiting.length > 0) return
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /** Takes the next writes from those that wait, as many as one transaction may have and the disk has room for. */
  #takeGroup(): { group: Waiting[]; refused: Waiting[] } {
    this.room?.begin()
    const group: Waiting[] = []
    const refused: Waiting[] = []
    let operations = 0
    let sizeBytes = 0
    let taken = 0
    for (const waiting of this.#waiting) {
      if (operations >= this.#operationsMax.value || sizeBytes >= bytesInOneCommitMax) break
      const { size } = waiting.write
      const admission = this.room?.admit(size)
      if (admission === 'later') break
      taken++
      if (admission === 'full') {
        refused.push(waiting)
        continue
      }
      group.push(waiting)
      operations += size.operations
      sizeBytes += size.bytes
    }
    if (taken === this.#waiting.length) this.#waiting = []
    else this.#waiting.splice(0, taken)
    return { group, refused }
  }

  /** Commits the first writes of those that were taken, as many as were executed in time; the others wait again. */
  #commit(taken: readonly Waiting[]): void {
    const beganMs = performance.now()
    let executed = 0
    try {
      this.transactions.transact(() => {
        const changes = this.transactions.begin()
        const untilMs = performance.now() + executionMsMax
        do {
          taken[executed++]?.write.execute(changes)
          if (changes.failure !== undefined) throw changes.failure
        } while (executed < taken.length && performance.now() < untilMs)
        changes.put()
        this.transactions.end?.()
      })
    } catch (cause) {
      return this.#break(taken, new StoreError('unknown_outcome', 'a commit failed', { cause }))
    }
    const group = taken.slice(0, executed)
    if (executed < taken.length) this.#waiting = [...taken.slice(executed), ...this.#waiting]
    const tookMs = performance.now() - beganMs
    this.#last = { writes: group.length, tookMs }
    this.#operationsMax.took(tookMs, operationsOf(group) >= this.#operationsMax.value)
    this.#record(group)
    this.transactions.committed?.()
    for (const { write } of group) this.#leave(write)
  }

  #break(group: readonly Waiting[], reason: StoreError): void {
    this.#broken = true
    this.#record(group)
    for (const { write } of group) {
      this.#stats.failed += write.size.operations
      this.#leave(write, reason)
    }
    this.#rejectWaiting(brokenError)
    this.onBroken(reason)
  }

  /** Counts a commit, whether it succeeded or not. */
  #record(group: readonly Waiting[]): void {
    const [oldest] = group
    if (oldest === undefined) return
    this.#seconds.record((performance.now() - oldest.sinceMs) / 1000)
    this.#batchSizes.record(operationsOf(group))
  }

  #rejectWaiting(reason: () => StoreError): void {
    const rejected = this.#waiting
    this.#waiting = []
    for (const { write } of rejected) {
      this.#stats.writes -= write.size.operations
      this.#leave(write, reason())
    }
  }

  #leave(write: Write, failure?: StoreError): void {
    this.#stats.inFlight -= write.size.operations
    write.settle(failure)
  }
}

function operationsOf(group: readonly Waiting[]): number {
  return group.reduce((sum, { write }) => sum + write.size.operations, 0)
}

function closedError(): StoreError {
  return new StoreError('unavailable', 'the store is closed')
}

function brokenError(): StoreError {
  return new StoreError('unknown_outcome', 'the store no longer commits')
}
