/**
 * Every write's way to disk: counted while in flight, kept waiting while the store is held, and watched.
 *
 * States: open (writes go to lmdb as they come; it gathers those of one turn into one transaction) → held (writes in flight
 * finish, later ones wait) → open again; from either, closed (writes in flight finish, all others are refused). A commit that
 * fails, or never comes back, breaks the store for good: retrying a failed fsync proves nothing, so `onBroken` is told once,
 * and the process is expected to end.
 */
import { createHistogram, secondsBounds } from '../../histogram.js'
import { commitDeadlineMs } from '../../limits.js'
import { CommitFailed, type CommitStats, StoreError } from '../store.js'

export interface Commits {
  /**
   * Carries out a conditional write. `enqueue` must do nothing but hand writes to lmdb, all in one turn.
   *
   * @returns `outcome` once the write is on disk; undefined when its condition did not hold, so that nothing happened
   * @throws CommitFailed when it failed, or never came back; StoreError of the kind `unavailable` when the store is closed by then
   */
  run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined>
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /** Refuses every write from now on, those that wait included; resolves once nothing is in flight, and stops watching. */
  close(): Promise<void>
  readonly figures: CommitStats
}

/** Writes that one commit made durable together. */
const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/**
 * lmdb tells of a failed commit more often than anyone can listen: beside the promise of each write it rejects that of the
 * turn's batch, which it keeps to itself, and one more, which every such reason carries as `commitError`.
 */
interface CommitReason extends Error {
  readonly commitError: Promise<never>
}

function isCommitReason(reason: unknown): reason is CommitReason {
  return reason instanceof Error && 'commitError' in reason
}

/**
 * From now on the rejections of a failed commit that nobody hears do not end this process: they are lmdb's own, and each write
 * that failed has been told by its own promise. Every other rejection that nobody hears is a defect, and an uncaught exception
 * as before. For the program of a process that opens a store; call it once.
 */
export function ignoreUnheardCommitFailures(): void {
  process.on('unhandledRejection', (reason) => {
    if (!isCommitReason(reason)) throw reason
  })
}

/** @param onBroken called once, with the reason, when commits can no longer be trusted */
export function createCommits(onBroken: (reason: Error) => void): Commits {
  const seconds = createHistogram(secondsBounds)
  const ended = createHistogram(batchBounds)
  let batch = 0
  /** A batch comes back whole within one turn, so whoever reads in a later one sees it, though `endBatch` is still to come. */
  const batches: CommitStats['batches'] = {
    read() {
      endBatch()
      return ended.read()
    },
  }
  const figures = { writes: 0, failed: 0, inFlight: 0, seconds, batches }
  let progressAt = 0
  let held: { readonly released: Promise<void>; readonly resumeWrites: () => void } | undefined
  let waitingForDrain: (() => void)[] = []
  let closed = false
  let broken = false

  function reportOnce(reason: Error): void {
    if (broken) return
    broken = true
    onBroken(reason)
  }

  /** The writes of one commit come back in one turn, the one that waited longest first. */
  function settle(startedAt: number): void {
    progressAt = performance.now()
    if (batch++ === 0) {
      seconds.record((progressAt - startedAt) / 1000)
      setImmediate(endBatch)
    }
    leave()
  }

  function leave(): void {
    if (--figures.inFlight > 0) return
    const drained = waitingForDrain
    waitingForDrain = []
    for (const resolve of drained) resolve()
  }

  function endBatch(): void {
    if (batch > 0) ended.record(batch)
    batch = 0
  }

  function fail(startedAt: number, cause: unknown): never {
    settle(startedAt)
    figures.failed++
    if (isCommitReason(cause)) cause.commitError.catch(() => {})
    const error = new CommitFailed('a commit failed', { cause })
    reportOnce(error)
    throw error
  }

  function run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined> {
    if (closed) return Promise.reject(new StoreError('unavailable', 'the store is closed'))
    if (held !== undefined) return held.released.then(() => run(outcome, enqueue))
    const startedAt = performance.now()
    if (figures.inFlight++ === 0) progressAt = startedAt
    figures.writes++
    return handOver(enqueue).then(
      (done) => {
        settle(startedAt)
        return done ? outcome : undefined
      },
      (cause: unknown) => fail(startedAt, cause),
    )
  }

  /** A write that cannot even be handed over never was in flight, and is the caller's mistake, not the disk's. */
  function handOver(enqueue: () => Promise<boolean>): Promise<boolean> {
    try {
      return enqueue()
    } catch (error) {
      figures.writes--
      leave()
      throw error
    }
  }

  const watch = setInterval(() => {
    if (figures.inFlight > 0 && performance.now() - progressAt > commitDeadlineMs) {
      reportOnce(new CommitFailed(`no commit came back within ${commitDeadlineMs} ms`))
    }
  }, commitDeadlineMs / 10)
  watch.unref()

  function drain(): Promise<void> {
    if (figures.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => waitingForDrain.push(resolve))
  }

  function resumeWrites(): void {
    const ended = held
    held = undefined
    ended?.resumeWrites()
  }

  return {
    run,
    figures,
    pauseWrites() {
      if (held === undefined) {
        let resumeWrites = (): void => {}
        const released = new Promise<void>((resolve) => (resumeWrites = resolve))
        held = { released, resumeWrites }
      }
      return drain()
    },
    resumeWrites,
    async close() {
      closed = true
      resumeWrites()
      await drain()
      clearInterval(watch)
    },
  }
}
