/**
 * What a topic store needs of its engine: topics as they are stored, small records, and a log in the order of the commits,
 * read at one moment or in slices. What topics mean is decided in core/, once, and is no engine's business.
 *
 * What every engine guarantees:
 * - no read shows what a power cut or a fail-over could undo
 * - keys are compared as unsigned bytes
 *
 * An engine that reads without waiting returns its results at once. Whoever uses one must not wait in between, since bytes
 * and snapshots are valid only until the next read: `whenKnown` in base/awaitable.ts, never `await`.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { Cancellation } from '../base/cancellation.js'
import type { Moment } from '../base/clock.js'
import type { Slice } from '../base/time-slices.js'
import type { Plan } from '../selectors/plan.js'
import type { Path } from '../topics/path.js'
import type { KeyRange } from '../topics/range.js'
import type { Properties, TopicType } from '../topics/topic.js'
import type { Absent } from './topics.js'

/** Small records beside the topics, by their names. */
export type RecordTable = 'keys' | 'keyUses' | 'meta'

/** What a topic with properties was created with. */
export interface Head {
  readonly properties: Properties
  readonly created: Moment
}

/** What is read of a topic beside its type: less is cheaper. */
export interface Wanted {
  readonly head: boolean
  readonly item: boolean
  readonly version: boolean
}

/** A topic as it is stored. */
export interface StoredTopic {
  readonly type: TopicType
  /**
   * Undefined for a topic without properties, or if it was not asked for.
   *
   * @throws UnreadableTopic
   */
  head(): Head | undefined
  /** The fetch result item, valid during the call that receives the topic; undefined if it was not asked for, or is lost. */
  readonly item: Uint8Array | undefined
  /** 0 if it was not asked for. */
  readonly version: number
}

/** Visits the topics of a plan. */
export interface Scan {
  readonly plan: Plan
  /** Both types, in the order of their keys, if undefined. */
  readonly type: TopicType | undefined
  /** Undefined if only paths are wanted. */
  readonly wanted: Wanted | undefined
  /**
   * Called with each match, in order, within a slice; false ends the scan. `topic` is undefined if it is not wanted, or was
   * removed meanwhile.
   */
  readonly take: (path: Path, topic: StoredTopic | undefined, slice: Slice) => boolean
}

/**
 * Visits matches in slices until `take` returns false, or there are no more; the first slice is the caller's, if it has one.
 *
 * @throws Cancelled at the next slice once `cancellation` is set
 */
type RunScan = (scan: Scan, cancellation: Cancellation) => Awaitable<void>

/** Reads at one moment. */
export interface View {
  /** The item of the topic of this type: the shortest way. Valid until this turn ends or the next read. */
  item(type: TopicType, path: Path): Awaitable<Uint8Array | Absent>
  /**
   * Calls `take` for each path, in this order, until it returns false; with undefined where there is no topic.
   *
   * @param type only topics of this type are; undefined for both
   * @param bytesMax once the items have more bytes than this, together, no other need be read
   */
  topics(
    paths: readonly Path[],
    type: TopicType | undefined,
    wanted: Wanted,
    bytesMax: number,
    take: (path: Path, topic: StoredTopic | undefined) => boolean,
  ): Awaitable<void>
  /** Calls `take` with the item of each topic of a type in the ranges, valid during the call, until it returns false. */
  items(type: TopicType, ranges: readonly KeyRange[], take: (item: Uint8Array) => boolean): Awaitable<void>
  record(table: RecordTable, name: string): Awaitable<Buffer | undefined>
  /** The records of a table, in the order of their names. */
  records(table: RecordTable): Awaitable<readonly (readonly [string, Buffer])[]>
  /**
   * Calls `take` with the record of the log that has this version, if the log has it, and those after it, in order, until it
   * returns false.
   */
  log(version: number, take: (record: LogRecord) => boolean): Awaitable<void>
  /** Where the first or the last record of the log is, which always has one. */
  logEnd(end: 'first' | 'last'): Awaitable<LogPosition>
}

/** A view that stays as it is until it is closed. What is freed meanwhile is not used again, so the store may grow. */
export interface Snapshot extends View {
  readonly scan: RunScan
  /** How many topics the engine states to have; undefined if it does not. */
  readonly topicCount: number | undefined
  close(): Awaitable<void>
}

/** A place in the order of commits. */
export interface LogPosition {
  /** Of the last change of the commit. */
  readonly version: number
  /** How many changes there have been by then. */
  readonly total: number
}

/** One commit. */
export interface LogRecord extends LogPosition {
  /** The keys of the topics that it changed, as logged-keys.ts writes them. */
  readonly keys: Buffer
}

/** A commit that has just been made: its keys are valid during the call that receives it. */
export interface LoggedRecord extends LogRecord {
  /** Where the record before it is. */
  readonly before: LogPosition
}

/** An engine, as far as it reads. */
export interface Engine {
  /** A number that no other store has, and that a restore changes. */
  readonly storeId: number
  /** For a request, as it is handled: it sees every commit that was acknowledged before the call. */
  now(): View
  /** Small reads of one moment, at any other time: they see the same. */
  atOnce<T>(read: (view: View) => Awaitable<T>): Awaitable<T>
  /**
   * The same in a slice: at once if the caller runs in one.
   *
   * @param work is called again, and begins anew, if the snapshot was lost
   */
  inSnapshot<T>(work: (view: View, slice: Slice) => Awaitable<T>): Awaitable<T>
  /** Each slice sees every commit that was acknowledged before it; a topic that exists throughout is visited once. */
  readonly scan: RunScan
  openSnapshot(): Awaitable<Snapshot>
  /** Calls `onGrown` soon after commits of topics, with the record of the only one if it is at hand, until the result is called. */
  follow(onGrown: (record: LoggedRecord | undefined) => void): () => void
}
