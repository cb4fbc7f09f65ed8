/**
 * Every write's way to disk: counted while in flight, kept waiting while the store is held, and watched.
 *
 * States: open (writes go to lmdb as they come; it gathers those of one turn into one transaction) → held (writes in flight
 * finish, later ones wait) → open again. A commit that fails, or never comes back, breaks the store for good: retrying a
 * failed fsync proves nothing, so whoever runs the process is told once and is expected to end it.
 */
import { createDistribution, secondsBounds } from '../../distribution.js'
import { commitDeadlineMs } from '../../limits.js'
import { CommitFailed, type CommitFigures } from '../store.js'

export interface Commits {
  /**
   * Carries out a conditional write. `enqueue` must do nothing but hand writes to lmdb, all in one turn.
   *
   * @returns `outcome` once the write is on disk; undefined when its condition did not hold, so that nothing happened
   * @throws CommitFailed when it failed, or never came back
   */
  run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined>
  hold(): Promise<void>
  release(): void
  /** Resolves once nothing is in flight, and stops watching. */
  close(): Promise<void>
  readonly figures: CommitFigures
}

/** Writes that one commit made durable together. */
const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** @param onBroken called once, with the reason, when commits can no longer be trusted */
export function createCommits(onBroken: (reason: Error) => void): Commits {
  const seconds = createDistribution(secondsBounds)
  const batches = createDistribution(batchBounds)
  const figures = { writes: 0, failed: 0, inFlight: 0, seconds, batches }
  let batch = 0
  let progressAt = 0
  let held: { readonly released: Promise<void>; readonly release: () => void } | undefined
  let drained: (() => void) | undefined
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
    if (--figures.inFlight === 0) drained?.()
  }

  function endBatch(): void {
    batches.record(batch)
    batch = 0
  }

  function fail(startedAt: number, cause: unknown): never {
    settle(startedAt)
    figures.failed++
    const error = new CommitFailed('a commit failed', { cause })
    reportOnce(error)
    throw error
  }

  function run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined> {
    if (held !== undefined) return held.released.then(() => run(outcome, enqueue))
    const startedAt = performance.now()
    if (figures.inFlight++ === 0) progressAt = startedAt
    figures.writes++
    return enqueue().then(
      (done) => {
        settle(startedAt)
        return done ? outcome : undefined
      },
      (cause: unknown) => fail(startedAt, cause),
    )
  }

  const watch = setInterval(() => {
    if (figures.inFlight > 0 && performance.now() - progressAt > commitDeadlineMs) {
      reportOnce(new CommitFailed(`no commit came back within ${commitDeadlineMs} ms`))
    }
  }, commitDeadlineMs / 10)
  watch.unref()

  function drain(): Promise<void> {
    if (figures.inFlight === 0) return Promise.resolve()
    return new Promise((resolve) => {
      drained = () => {
        drained = undefined
        resolve()
      }
    })
  }

  return {
    run,
    figures,
    hold() {
      if (held === undefined) {
        let release = (): void => {}
        const released = new Promise<void>((resolve) => (release = resolve))
        held = { released, release }
      }
      return drain()
    },
    release() {
      const ended = held
      held = undefined
      ended?.release()
    },
    async close() {
      await drain()
      clearInterval(watch)
    },
  }
}
