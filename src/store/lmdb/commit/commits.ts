/**
 * Every change to the environment passes through here. A change waits for its turn, for room on the disk, and for paused writes to
 * resume. Then it shares a transaction with all waiting changes, up to a limit.
 *
 * Transactions are synchronous, because this process has nothing else to do, and no other process writes. The steps: collect the
 * requests of one turn of the event loop → start → decide each request in order → write → commit, which returns once everything is
 * on disk → settle them all. The opener of the store provides the decider.
 *
 * A failed transaction breaks the store permanently: retrying a failed fsync proves nothing. `onBroken` is then called once, every
 * write is rejected, and the process is expected to exit.
 */
import { createHistogram, secondsBounds } from '../../../base/histogram.js'
import { PacedBound } from '../../../base/paced-bound.js'
import { operationsInOneCommitMax } from '../../../settings/limits.js'
import type { Changes, Decider, Group, LoggedRecord, Stored, WriteSize } from '../../engine.js'
import { StoreError } from '../../errors.js'
import { batchBounds, type CommitStats } from '../../monitoring.js'
import type { DiskRoom } from './disk-room.js'

/**
 * Maximum bytes of operations per transaction; the last request may exceed it. Even a slow disk writes this much before the writer
 * counts as hung.
 */
export const bytesInOneCommitMax = 32 * 1024 * 1024

/**
 * Time limit for deciding requests in one transaction; the last request may overrun, and the rest join a later one. Deciding may
 * take far longer than writing, and a writer that is busy for too long counts as hung.
 */
export const decidingMsMax = 200

/**
 * Wait for this share of the last transaction's writes: clients that just got a response tend to send again. A commit costs about
 * 0.5 ms, no matter how few writes share it.
 */
const gatheredShare = 0.9

/** Wait at most this multiple of the last transaction's duration, and at most this many ms. */
const gatheringFactor = 2
const gatheringMsMax = 3

type Room = Pick<DiskRoom, 'begin' | 'admit'>

/** lmdb's transactions, or a test's. */
interface Transactions {
  /** Calls `callback` in a transaction and returns once it is on disk; throws if it is not, or might not be. */
  readonly transact: (callback: () => void) => void
  /** Reads in the transaction whose callback is running. */
  readonly stored: Stored
  /** Writes in that transaction. */
  readonly transaction: Changes & { begin(): void; end(): LoggedRecord | undefined }
  /** Called once the transaction is on disk, before its writes are settled. @param record its record in the log, if any */
  readonly committed: (record: LoggedRecord | undefined) => void
}

/** `error` is from the decision, the commit, the check of the disk's free space, or a closed or broken store. */
type Settled<Outcome> = { readonly outcome: Outcome } | { readonly error: unknown }

interface Write<Request, Outcome> {
  readonly request: Request
  readonly size: WriteSize
  readonly sinceMs: number
  /** Called once: when the write's transaction is on disk, or with the reason why the write failed or its outcome is unknown. */
  readonly settle: (settled: Settled<Outcome>) => void
  decided: Settled<Outcome>
}

const undecided: Settled<never> = { error: new Error('the request was not decided') }
const closed: Settled<never> = { error: new StoreError('unavailable', 'the store is closed') }
const broken: Settled<never> = { error: new StoreError('unknown_outcome', 'the store no longer commits') }
const full: Settled<never> = { error: new StoreError('full', 'the disk is nearly full') }

export class Commits<Request, Outcome> {
  readonly #seconds = createHistogram(secondsBounds)
  readonly #batchSizes = createHistogram(batchBounds)
  readonly #stats = { writes: 0, failed: 0, inFlight: 0 }
  #waiting: Write<Request, Outcome>[] = []
  #isScheduled = false
  /** Set while more writes are expected before the next transaction. */
  #gathering: NodeJS.Timeout | undefined
  #lastTransaction = { writes: 0, tookMs: 0 }
  /**
   * Operation limit of the next transaction, lowered on a slow disk so that a commit never takes long enough for this process to
   * count as hung.
   */
  readonly #operationsMax = new PacedBound(operationsInOneCommitMax)
  #isPaused = false
  #closed = false
  #broken = false
  #onDrained: (() => void)[] = []

  /** Between turns of the event loop, `writes` is the total of `batches` plus `inFlight`. */
  readonly stats: CommitStats = Object.assign(this.#stats, { seconds: this.#seconds, batches: this.#batchSizes })

  /** @param onBroken called once, when commits can no longer be trusted @param room without it, every write is admitted */
  constructor(
    private readonly transactions: Transactions,
    private readonly decider: Decider<Request, Outcome>,
    private readonly onBroken: (reason: Error) => void,
    private readonly room?: Room,
  ) {}

  /**
   * @returns the outcome, once on disk
   * @throws StoreError `unknown_outcome` if the commit failed, `full` if the disk has no room for the write, or `unavailable` if
   *   the store is closed; an error thrown by the decision, unchanged
   */
  commit(request: Request): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.submit(request, (settled) => ('error' in settled ? reject(settled.error) : resolve(settled.outcome)))
    })
  }

  /** Like `commit`. @param settle called once */
  submit(request: Request, settle: (settled: Settled<Outcome>) => void): void {
    if (this.#closed) return settle(closed)
    if (this.#broken) return settle(broken)
    const size = this.decider.sizeOf(request)
    this.#waiting.push({ request, size, sinceMs: performance.now(), settle, decided: undecided })
    this.#stats.inFlight += size.operations
    this.#stats.writes += size.operations
    this.#schedule()
  }

  /**
   * First commits one transaction's worth of waiting writes, so that frequent pauses cannot starve writes. Later writes wait until
   * `resumeWrites`; no transaction is open in the meantime.
   */
  pauseWrites(): void {
    this.#commitNext()
    this.#isPaused = true
  }

  resumeWrites(): void {
    this.#isPaused = false
    this.#schedule()
  }

  /**
   * Rejects every write from now on. Resolves once the waiting writes are on disk; if writes are paused, rejects the waiting ones
   * as well.
   */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#isPaused) this.#rejectWaiting(closed)
    if (this.#waiting.length > 0) await new Promise<void>((resolve) => this.#onDrained.push(resolve))
  }

  /** Schedules a transaction for the end of this turn or, while clearly fewer writes wait than the last transaction had, a little later. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || this.#waiting.length === 0) return
    const { writes, tookMs } = this.#lastTransaction
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
    this.#reject(refused, full)
    if (group.length > 0) this.#commitGroup(group)
    this.#schedule()
    if (this.#waiting.length > 0) return
    for (const resolve of this.#onDrained.splice(0)) resolve()
  }

  /** Takes as many of the next waiting writes as fit in one transaction and on the disk. */
  #takeGroup(): { group: Write<Request, Outcome>[]; refused: Write<Request, Outcome>[] } {
    this.room?.begin()
    const group: Write<Request, Outcome>[] = []
    const refused: Write<Request, Outcome>[] = []
    let operations = 0
    let sizeBytes = 0
    let taken = 0
    for (const write of this.#waiting) {
      if (operations >= this.#operationsMax.value || sizeBytes >= bytesInOneCommitMax) break
      const { size } = write
      const admission = this.room?.admit(size)
      if (admission === 'later') break
      taken++
      if (admission === 'full') {
        refused.push(write)
        continue
      }
      group.push(write)
      operations += size.operations
      sizeBytes += size.bytes
    }
    if (taken === this.#waiting.length) this.#waiting = []
    else this.#waiting.splice(0, taken)
    return { group, refused }
  }

  /** Commits the first of the taken writes: those that were decided in time. The others wait again. */
  #commitGroup(taken: readonly Write<Request, Outcome>[]): void {
    const { transact, stored, transaction, committed } = this.transactions
    const beganMs = performance.now()
    let decided = 0
    let record: LoggedRecord | undefined
    try {
      transact(() => {
        transaction.begin()
        const group = this.decider.begin(stored, transaction.moment)
        const untilMs = performance.now() + decidingMsMax
        do decide(group, taken[decided++] as Write<Request, Outcome>)
        while (decided < taken.length && performance.now() < untilMs)
        group.end(transaction)
        record = transaction.end()
      })
    } catch (cause) {
      return this.#break(taken, new StoreError('unknown_outcome', 'a commit failed', { cause }))
    }
    const group = taken.slice(0, decided)
    if (decided < taken.length) this.#waiting = [...taken.slice(decided), ...this.#waiting]
    const tookMs = performance.now() - beganMs
    this.#lastTransaction = { writes: group.length, tookMs }
    this.#operationsMax.took(tookMs, operationsOf(group) >= this.#operationsMax.value)
    this.#record(group)
    committed(record)
    for (const write of group) this.#leave(write, write.decided)
  }

  #break(group: readonly Write<Request, Outcome>[], reason: StoreError): void {
    this.#broken = true
    this.#record(group)
    for (const write of group) {
      this.#stats.failed += write.size.operations
      this.#leave(write, { error: reason })
    }
    this.#rejectWaiting(broken)
    this.onBroken(reason)
  }

  /** Counts a commit, whether it succeeded or not. */
  #record(group: readonly Write<Request, Outcome>[]): void {
    const [oldest] = group
    if (oldest === undefined) return
    this.#seconds.record((performance.now() - oldest.sinceMs) / 1000)
    this.#batchSizes.record(operationsOf(group))
  }

  #rejectWaiting(reason: Settled<never>): void {
    this.#reject(this.#waiting.splice(0), reason)
  }

  /** Rejects writes and removes them from the count. */
  #reject(writes: readonly Write<Request, Outcome>[], reason: Settled<never>): void {
    for (const write of writes) {
      this.#stats.writes -= write.size.operations
      this.#leave(write, reason)
    }
  }

  #leave(write: Write<Request, Outcome>, settled: Settled<Outcome>): void {
    this.#stats.inFlight -= write.size.operations
    write.settle(settled)
  }
}

function decide<Request, Outcome>(group: Group<Request, Outcome>, write: Write<Request, Outcome>): void {
  try {
    write.decided = { outcome: group.decide(write.request) }
  } catch (error) {
    write.decided = { error }
  }
}

function operationsOf(group: readonly { readonly size: WriteSize }[]): number {
  return group.reduce((sum, { size }) => sum + size.operations, 0)
}
