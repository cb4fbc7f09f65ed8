/**
 * Every write's way to disk: counted while in flight, kept waiting while the store is held, and watched.
 *
 * States: open (writes go to lmdb as they come; it gathers those of one turn into one transaction) → held (writes in flight
 * finish, later ones wait) → open again. A commit that fails, or never comes back, breaks the store for good: retrying a
 * failed fsync proves nothing, so whoever runs the process is told once and is expected to end it.
 */
import { commitDeadlineMs } from '../../limits.js'
import { StoreError } from '../store.js'

export interface Commits {
  /**
   * Carries out a conditional write. `enqueue` must do nothing but hand writes to lmdb, all in one turn.
   *
   * @returns `outcome` once the write is on disk; undefined when its condition did not hold, so that nothing happened
   * @throws StoreError `unknown_outcome` when the commit failed
   */
  run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined>
  hold(): Promise<void>
  release(): void
  /** Resolves once nothing is in flight, and stops watching. */
  close(): Promise<void>
  readonly figures: CommitFigures
}

/** Counts since the start, for the metrics. */
export interface CommitFigures {
  writes: number
  inFlight: number
}

/** @param onBroken called once, with the reason, when commits can no longer be trusted */
export function createCommits(onBroken: (reason: Error) => void): Commits {
  const figures: CommitFigures = { writes: 0, inFlight: 0 }
  let progressAt = 0
  let held: { readonly released: Promise<void>; readonly release: () => void } | undefined
  let drained: (() => void) | undefined
  let broken = false

  function reportOnce(reason: Error): void {
    if (broken) return
    broken = true
    onBroken(reason)
  }

  function settle(): void {
    progressAt = performance.now()
    if (--figures.inFlight === 0) drained?.()
  }

  function fail(cause: unknown): never {
    settle()
    const error = new StoreError('unknown_outcome', 'a commit failed', { cause })
    reportOnce(error)
    throw error
  }

  function run<T>(outcome: T, enqueue: () => Promise<boolean>): Promise<T | undefined> {
    if (held !== undefined) return held.released.then(() => run(outcome, enqueue))
    if (figures.inFlight++ === 0) progressAt = performance.now()
    figures.writes++
    return enqueue().then((done) => {
      settle()
      return done ? outcome : undefined
    }, fail)
  }

  const watch = setInterval(() => {
    if (figures.inFlight > 0 && performance.now() - progressAt > commitDeadlineMs) {
      reportOnce(new StoreError('unknown_outcome', `no commit came back within ${commitDeadlineMs} ms`))
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
