/** Reading the log of changes. changes/ decides what clients see of it; each engine decides how to store it. */
import type { Awaitable } from '../base/awaitable.js'
import type { Slice } from '../base/time-slices.js'
import type { Path } from '../topics/path.js'
import type { ItemForm } from './topics.js'

/**
 * A place in the log, between two changes, as bytes that only the store can read. It outlives every process and a failover. A log
 * that does not contain the place, or no longer does, reports `gone`.
 */
export type LogPlace = Buffer

/** Changes after a place, ordered so that no change precedes one it depends on. */
export interface LoggedChanges {
  /** The key texts (topics/key.ts) of the topics that changed, one per change. */
  readonly keys: readonly string[]
  /** The log has no changes after these. */
  readonly isAll: boolean
  /** The place just before change `index`; for `index === keys.length`, after the last one. */
  placeAt(index: number): LogPlace
}

export interface LoggedCommit {
  readonly from: LogPlace
  readonly to: LogPlace
  /** The key texts of the topics that changed. */
  readonly keys: readonly string[]
}

/** A snapshot of the log and the topics. */
export interface LogSnapshot {
  /** The place after all changes. */
  end(): Awaitable<LogPlace>
  /**
   * Reads about the first `keysMax` changes after a place, at least 1. The place may lie within a commit.
   *
   * @param take receives the changes, in a slice, or `gone` if the log does not contain all changes after the place: they were
   *   trimmed, or the place belongs to another store or to commits that a failover lost
   */
  changesAfter<T>(
    place: LogPlace,
    keysMax: number,
    take: (changes: LoggedChanges | 'gone', slice: Slice) => Awaitable<T>,
  ): Awaitable<T>
  /**
   * @param bytesMax once the items exceed this total, the rest need not be read
   * @param take receives the item of each path, in the order of the paths; undefined if there is no topic in that form. The item is
   *   valid only during the call. Returns whether to continue
   */
  readItems(
    paths: readonly Path[],
    form: ItemForm,
    bytesMax: number,
    take: (item: Uint8Array | undefined) => boolean,
  ): Awaitable<void>
}

export interface LogRange {
  readonly changes: number
  /** The approximate time of the first change, as Unix time in ms. */
  readonly sinceMs: number
}

export interface ChangeReader {
  /**
   * Reads a snapshot no older than the call, in a slice: immediately if the caller runs in one. If the engine reads without
   * waiting, `work` must not wait either.
   *
   * @param work is called again, and must start over, if its connection was lost or the engine was no longer the primary
   * @throws the error of `work`; StoreError `unavailable`
   */
  inSnapshot<T>(work: (log: LogSnapshot) => Awaitable<T>): Awaitable<T>
  /** Whether `place` is at or after `earlier`; both are ends of one log. */
  isAfter(place: LogPlace, earlier: LogPlace): boolean
  /**
   * Calls `onGrown` soon after changes were logged, once for any number of them, until the returned function is called. If a commit
   * is passed, the log grew by exactly that commit; otherwise read the log.
   */
  followLog(onGrown: (commit?: LoggedCommit) => void): () => void
}
