/** Reading the log of changes. Its meaning for clients is decided in changes/, and how it is kept, by each engine. */
import type { Awaitable } from '../base/awaitable.js'
import type { Slice } from '../base/time-slices.js'
import type { Path } from '../topics/path.js'
import type { ItemForm } from './topics.js'

/**
 * A place in the log, after some changes and before all others, as bytes that only the engine can read. It outlives
 * every process, and a fail-over; a log that does not have it, or not any more, says so.
 */
export type LogPlace = Buffer

/** Changes after a place, ordered so that no change precedes one it depends on. */
export interface LoggedChanges {
  /** The topics that changed, by the texts of their keys (topics/key.ts), one for each change. */
  readonly keys: readonly string[]
  /** The log has no changes after these. */
  readonly isAll: boolean
  /** The place before the change with this index, or, for the number of keys, after all of them. */
  placeAt(index: number): LogPlace
}

export interface LoggedCommit {
  readonly from: LogPlace
  readonly to: LogPlace
  /** The topics that changed, by the texts of their keys. */
  readonly keys: readonly string[]
}

/** The log and the topics at one moment. */
export interface LogSnapshot {
  /** The place after all changes. */
  end(): Awaitable<LogPlace>
  /**
   * Reads the first changes after a place, about `keysMax` of them, at least 1: a place within a commit is known by it.
   *
   * @param take receives them, in a slice; `gone` if the log does not have all of them: they were trimmed, or the place is
   *   of another store, or of a future that was lost
   */
  changesAfter<T>(
    place: LogPlace,
    keysMax: number,
    take: (changes: LoggedChanges | 'gone', slice: Slice) => Awaitable<T>,
  ): Awaitable<T>
  /**
   * @param bytesMax once the items have more bytes than this, together, no other need be read
   * @param take receives the item of each, in this order, valid only during the call, or undefined where there is no topic
   *   in that form; returns whether to continue
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
  /** When its first change was made, in ms since the epoch, about. */
  readonly sinceMs: number
}

export interface ChangeReader {
  /**
   * Reads at one moment, not earlier than the call, in a slice: at once if the caller runs in one. Where an engine reads
   * without waiting, `work` must not wait either.
   *
   * @param work begins anew when it is called again: its connection was lost, or the engine was no longer the primary
   * @throws what `work` throws; StoreError `unavailable`
   */
  inSnapshot<T>(work: (log: LogSnapshot) => Awaitable<T>): Awaitable<T>
  /** Compares two ends of one log: true if `place` is the later one, or both are equal. */
  isAfter(place: LogPlace, earlier: LogPlace): boolean
  /**
   * Calls `onGrown` soon after changes were logged, once for any number of them, until the returned function is called.
   * With a commit, it has grown by that one; without, it has to be read what came.
   */
  followLog(onGrown: (commit?: LoggedCommit) => void): () => void
}
