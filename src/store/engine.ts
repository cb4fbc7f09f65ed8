/**
 * The interface between a topic store and its engine: stored topics, small records, and a log in the order of the commits, read in
 * a snapshot or in slices. core/ alone decides what topics mean. Every engine gives the guarantees in store.ts, even across
 * failovers, and compares keys as unsigned bytes.
 *
 * An engine that reads without waiting returns its results synchronously. Its callers must not wait in between, because bytes and
 * snapshots are valid only until the next read: use `whenKnown` in base/awaitable.ts, never `await`.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { Cancellation } from '../base/cancellation.js'
import type { Moment } from '../base/clock.js'
import type { Slice } from '../base/time-slices.js'
import type { Plan } from '../selectors/plan.js'
import type { Path } from '../topics/path.js'
import type { KeyRange } from '../topics/range.js'
import type { Properties, TopicType } from '../topics/topic.js'
import type { Absent, BranchLimit, ChangeVersion } from './topics.js'

/** Tables of small, named records, stored next to the topics. */
export type RecordTable = 'keys' | 'keyUses' | 'receipts' | 'meta'

/** The next evaluation of a topic's policy. */
export interface Due {
  readonly atMs: number
  /** Never used by another topic, even at the same path. */
  readonly id: string
}

/** The stored data of a topic with properties, apart from its item. */
export interface Head {
  readonly properties: Properties
  readonly created: Moment
  /** Undefined if it is never due. */
  readonly due: Due | undefined
}

/** The parts of a topic to read besides its type: fewer are cheaper. */
export interface Wanted {
  readonly head: boolean
  readonly item: boolean
  readonly version: boolean
}

/** A topic as it is stored. Only its functions can fail; call them while the view or commit that read the topic is open. */
export interface StoredTopic {
  readonly type: TopicType
  /** Undefined if the topic has no properties or the head was not requested. @throws UnreadableTopic */
  head(): Head | undefined
  /**
   * The last time its value was set, if that is stored (`NewTopic.tracksUpdates`) and the head was requested.
   *
   * @throws Error if it cannot be read
   */
  updated(): Moment | undefined
  /** False if its head has a due time, but its record for `View.due` is missing. */
  isScheduled(): boolean
  /** The fetch result item, valid during the call that receives the topic; undefined if it was not requested or is lost. */
  readonly item: Uint8Array | undefined
  /** 0 if it was not requested or is lost. */
  readonly version: number
}

export interface Scan {
  readonly plan: Plan
  /** Set only if the plan's matcher does nothing but limit branches, for an engine that can apply the limit while it reads. */
  readonly branches?: BranchLimit | undefined
  /** Undefined for topics of both types, in the order of their keys. */
  readonly type: TopicType | undefined
  /** Undefined if only paths are wanted. */
  readonly wanted: Wanted | undefined
  /** The amount to read ahead, for an engine that waits for its reads. */
  readonly ahead: { readonly topics: number; readonly bytes: number }
  /**
   * Called with each match, in order, within a slice; false ends the scan. `topic` is undefined if it is not wanted, or was removed
   * after the match.
   */
  readonly take: (path: Path, topic: StoredTopic | undefined, slice: Slice) => boolean
  /** Called for each key of a snapshot that does not sort after the previous one. Without it, such a key fails the scan. */
  readonly onMisplaced?: (path: Path) => void
}

export type Records = Readonly<
  Record<'topics' | 'json' | 'string' | 'updates' | 'due' | 'changes' | 'keys' | 'keyUses', number>
>

/**
 * Visits matches in slices until `take` returns false or no match is left. The first slice is the caller's, if it has one.
 *
 * @throws Cancelled at the next slice once `cancellation` is set
 */
type RunScan = (scan: Scan, cancellation: Cancellation) => Awaitable<void>

/** Reads the store at one point in time. */
export interface View {
  /** The item of the topic of this type, by the fastest lookup. Valid until this turn ends or the next read. */
  item(type: TopicType, path: Path): Awaitable<Uint8Array | Absent>
  /**
   * Calls `take` for each path, in the given order, until it returns false; the topic is undefined if it does not exist.
   *
   * @param type topics of the other type count as absent; undefined for both types
   * @param bytesMax once the items exceed this total, the rest need not be read
   */
  topics(
    paths: readonly Path[],
    type: TopicType | undefined,
    wanted: Wanted,
    bytesMax: number,
    take: (path: Path, topic: StoredTopic | undefined) => boolean,
  ): Awaitable<void>
  /**
   * Calls `take` with the item of each topic of a type in the ranges, valid during the call, until it returns false.
   *
   * @param ahead the number of items, and of their bytes, to read ahead
   */
  items(
    type: TopicType,
    ranges: readonly KeyRange[],
    ahead: Scan['ahead'],
    take: (item: Uint8Array) => boolean,
  ): Awaitable<void>
  /** At most `limit` topics that are due between two times (inclusive) and sort after a place, in order of time. */
  due(fromMs: number, untilMs: number, after: DuePlace | undefined, limit: number): Awaitable<readonly DuePlace[]>
  record(table: RecordTable, name: string): Awaitable<Buffer | undefined>
  /** In the order of their names. */
  records(table: RecordTable): Awaitable<readonly (readonly [string, Buffer])[]>
  /**
   * Calls `take` with the log's record of this version, if there is one, and the later records, in order, until it returns false.
   * If the engine waits, the calls are within a slice.
   *
   * @param keysAhead the number of keys to read ahead
   */
  log(version: number, keysAhead: number, take: (record: LogRecord) => boolean): Awaitable<void>
  /** The position of the log's first or last record; there is always one. */
  logEnd(end: 'first' | 'last'): Awaitable<LogPosition>
}

/** The record of a topic's due time. The topic at the path owns it only if that topic's head has the same `due.id`. */
export interface DuePlace extends Due {
  /** Undefined if it cannot be read. */
  readonly path: Path | undefined
}

/** A view that stays unchanged until it is closed. Space freed in the meantime is not reused, so the store may grow. */
export interface Snapshot extends View {
  readonly scan: RunScan
  /** The engine's own record counts; undefined if it has none. */
  readonly stated: Records | undefined
  close(): Awaitable<void>
}

/** A place in the order of commits. */
export interface LogPosition {
  /** The version of the commit's last change. */
  readonly version: number
  /** The number of changes up to and including it. */
  readonly total: number
}

export interface LogRecord extends LogPosition {
  /** The keys of the topics that it changed, in the format of logged-keys.ts. */
  readonly keys: Buffer
}

/** The record of a commit that has just completed. */
export interface LoggedRecord extends LogRecord {
  /** The position of the previous record. */
  readonly before: LogPosition
}

/** The read interface of an engine. */
export interface Engine {
  /** A number unique to this store; a restore changes it. */
  storeId(): Awaitable<number>
  /** True if its reads wait, and other work runs in between. */
  readonly waits: boolean
  /** The view for a request that is being handled: it sees every commit that was acknowledged before the call. */
  now(): View
  /** Runs small reads on one snapshot, outside of request handling. They see the same commits as `now`. */
  atOnce<T>(read: (view: View) => Awaitable<T>): Awaitable<T>
  /**
   * Like `atOnce`, but in a slice: immediately if the caller runs in one.
   *
   * @param work is called again, and must start over, if the snapshot was lost
   */
  inSnapshot<T>(work: (view: View, slice: Slice) => Awaitable<T>): Awaitable<T>
  /** Each slice sees every commit that was acknowledged before it; a topic that exists throughout is visited once. */
  readonly scan: RunScan
  openSnapshot(): Awaitable<Snapshot>
  /**
   * Calls `onGrown` soon after commits of topics, until the returned function is called. Passes the record if there was only one
   * commit and its record is available.
   */
  follow(onGrown: (record: LoggedRecord | undefined) => void): () => void
}

/** The bytes of an item: the part of a buffer from `start` to `end`. */
export interface ItemBytes {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** The maximum that a request adds to the store. */
export interface WriteSize {
  readonly operations: number
  /** The bytes of its records, apart from their keys. */
  readonly bytes: number
  /** True if it may add topics or bytes; such a write must leave more free space on the disk. */
  readonly grows: boolean
}

/** Decides requests of one kind. Everything in it is synchronous. */
export interface Decider<Request, Outcome> {
  sizeOf(request: Request): WriteSize
  /**
   * Starts a group of requests that share a commit. An engine may decide a group again, using fresher records.
   *
   * @param moment the time of the commit
   */
  begin(stored: Stored, moment: Moment): Group<Request, Outcome>
}

/** The data that may be read to decide a request, for an engine that waits for its reads. */
export interface Needs {
  readonly topics: readonly NeededTopic[]
  readonly records: readonly RecordTable[]
}

export interface NeededTopic {
  readonly path: Path
  readonly reads: NeededPart
}

/**
 * The parts of a topic that may be read: `constants` never change. `version` adds everything but the item, such as the due time.
 * `item` is the whole topic.
 */
export type NeededPart = 'constants' | 'version' | 'item'

export interface Group<Request, Outcome> {
  /** Decides one request, based on the stored records and on earlier decisions. If it throws, it has decided nothing. */
  decide(request: Request): Outcome
  /** Applies the decided changes. Only a defect may throw here. */
  end(changes: Changes): void
}

/** The store before a commit. */
export interface Stored {
  /**
   * @param type a topic of the other type counts as absent; undefined for both types
   * @param wanted its item is a view, valid until the next read
   */
  topic(path: Path, type: TopicType | undefined, wanted: Wanted): StoredTopic | undefined
  record(table: RecordTable, name: string): Buffer | undefined
  records(table: RecordTable): readonly (readonly [string, Buffer])[]
}

export interface NewTopic {
  readonly path: Path
  readonly type: TopicType
  readonly properties: Properties
  readonly item: ItemBytes
  /** The first evaluation of its policy; undefined if it is never due. */
  readonly dueMs: number | undefined
  /** Stores the time of each update from now on. */
  readonly tracksUpdates: boolean
}

/** The changes of a commit. The engine assigns the next version to each topic that changes, and logs the topic. */
export interface Changes {
  /** The time of the commit. */
  readonly moment: Moment
  /** @param former the topic that it replaces, if any */
  create(topic: NewTopic, former: StoredTopic | undefined): void
  /** @param tracksUpdates true if the time of the update is stored */
  update(path: Path, topic: StoredTopic, item: ItemBytes, tracksUpdates: boolean): void
  remove(path: Path, topic: StoredTopic): void
  /** A change that is undone or followed by another one in the same commit: it only uses up a version. */
  pass(path: Path): void
  /** Sets the version of the last change, before the commit's requests are settled. */
  tellVersion(change: ChangeVersion): void
  /** Not a change to the topic: its version stays the same. @param dueMs undefined if it is never due */
  reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): void
  /** Removes a place that no topic owns. */
  dropDue(place: DuePlace): void
  /** @param value undefined removes the record */
  put(table: RecordTable, name: string, value: Buffer | undefined): void
}
