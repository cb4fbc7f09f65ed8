/**
 * What a topic store needs of its engine: topics as they are stored, small records, and a log in the order of the commits,
 * read at one moment or in slices. What topics mean is decided in core/, once, and is no engine's business. Every engine
 * guarantees what store.ts says, also across failovers, and compares keys as unsigned bytes.
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
import type { Absent, BranchLimit, ChangeVersion } from './topics.js'

/** Small records beside the topics, by their names. */
export type RecordTable = 'keys' | 'keyUses' | 'receipts' | 'meta'

/** The next evaluation of a topic's policy. */
export interface Due {
  readonly atMs: number
  /** No other topic has ever had the same one, even at the same path. */
  readonly id: string
}

/** Of a topic with properties. */
export interface Head {
  readonly properties: Properties
  readonly created: Moment
  /** Undefined for never. */
  readonly due: Due | undefined
}

/** The parts of a topic to read besides its type: fewer are cheaper. */
export interface Wanted {
  readonly head: boolean
  readonly item: boolean
  readonly version: boolean
}

/** A topic as it is stored. Nothing but its functions can fail; they belong to the view, or the commit, that has read it. */
export interface StoredTopic {
  readonly type: TopicType
  /** Undefined for a topic without properties, or if it was not asked for. @throws UnreadableTopic */
  head(): Head | undefined
  /**
   * When its value was last set, where that is kept (`NewTopic.tracksUpdates`) and the head was asked for.
   *
   * @throws Error when it cannot be read
   */
  updated(): Moment | undefined
  /** False if its head says that it is due, but its record for `View.due` is missing. */
  isScheduled(): boolean
  /** The fetch result item, valid during the call that receives the topic; undefined if it was not asked for, or is lost. */
  readonly item: Uint8Array | undefined
  /** 0 if it was not asked for. */
  readonly version: number
}

export interface Scan {
  readonly plan: Plan
  /** All that the plan's matcher does: it takes the first of each branch. For an engine that can find these where it reads. */
  readonly branches?: BranchLimit | undefined
  /** Both types, in the order of their keys, if undefined. */
  readonly type: TopicType | undefined
  /** Undefined if only paths are wanted. */
  readonly wanted: Wanted | undefined
  /** How much is worth reading before it is taken, for an engine that waits for what it reads. */
  readonly ahead: { readonly topics: number; readonly bytes: number }
  /**
   * Called with each match, in order, within a slice; false ends the scan. `topic` is undefined if it is not wanted, or was
   * removed meanwhile.
   */
  readonly take: (path: Path, topic: StoredTopic | undefined, slice: Slice) => boolean
  /** In a snapshot: called for each key that is not after the one before. Without it, such a key ends the scan with an error. */
  readonly onMisplaced?: (path: Path) => void
}

export type Records = Readonly<
  Record<'topics' | 'json' | 'string' | 'updates' | 'due' | 'changes' | 'keys' | 'keyUses', number>
>

/**
 * Visits matches in slices until `take` returns false, or there are no more; the first slice is the caller's, if it has one.
 *
 * @throws Cancelled at the next slice once `cancellation` is set
 */
type RunScan = (scan: Scan, cancellation: Cancellation) => Awaitable<void>

/** Reads one point in time. */
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
  /**
   * Calls `take` with the item of each topic of a type in the ranges, valid during the call, until it returns false.
   *
   * @param ahead how many items, and bytes of them, are worth reading before they are taken
   */
  items(
    type: TopicType,
    ranges: readonly KeyRange[],
    ahead: Scan['ahead'],
    take: (item: Uint8Array) => boolean,
  ): Awaitable<void>
  /** The topics that are due from one time to another, both included, after a place, by time: at most `limit`. */
  due(fromMs: number, untilMs: number, after: DuePlace | undefined, limit: number): Awaitable<readonly DuePlace[]>
  record(table: RecordTable, name: string): Awaitable<Buffer | undefined>
  /** In the order of their names. */
  records(table: RecordTable): Awaitable<readonly (readonly [string, Buffer])[]>
  /**
   * Calls `take` with the record of the log that has this version, if the log has it, and those after it, in order, until it
   * returns false; within a slice if it waits.
   *
   * @param keysAhead how many keys are worth reading before they are taken
   */
  log(version: number, keysAhead: number, take: (record: LogRecord) => boolean): Awaitable<void>
  /** The log always has a record. */
  logEnd(end: 'first' | 'last'): Awaitable<LogPosition>
}

/** The record that a topic is due. No topic owns it if the path's topic has another due time, or none. */
export interface DuePlace extends Due {
  /** Undefined if it cannot be read. */
  readonly path: Path | undefined
}

/** A view that stays as it is until it is closed. What is freed meanwhile is not used again, so the store may grow. */
export interface Snapshot extends View {
  readonly scan: RunScan
  /** How many records the engine states to have; undefined if it does not. */
  readonly stated: Records | undefined
  close(): Awaitable<void>
}

/** A place in the order of commits. */
export interface LogPosition {
  /** Of the last change of the commit. */
  readonly version: number
  /** The number of changes until then. */
  readonly total: number
}

export interface LogRecord extends LogPosition {
  /** The keys of the topics that it changed, as logged-keys.ts writes them. */
  readonly keys: Buffer
}

/** A commit that has just been made. */
export interface LoggedRecord extends LogRecord {
  /** The position of the record before it. */
  readonly before: LogPosition
}

/** The reading part of an engine. */
export interface Engine {
  /** A number that no other store has, and that a restore changes. */
  storeId(): Awaitable<number>
  /** True if its reads wait, so that other work runs in between. */
  readonly waits: boolean
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

/** The bytes of an item: those of a buffer from `start` to `end`. */
export interface ItemBytes {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** The maximum that a commit adds to the store. */
export interface WriteSize {
  readonly operations: number
  /** The bytes of its records, apart from paths. */
  readonly bytes: number
  /** True if it may add topics, or bytes to them: such a write leaves more space on the disk. */
  readonly grows: boolean
}

/** Decides requests of one kind. Everything in it is synchronous. */
export interface Decider<Request, Outcome> {
  sizeOf(request: Request): WriteSize
  /**
   * Begins a group of requests that share a commit. An engine may decide a group again, over fresher records.
   *
   * @param moment the time of the commit
   */
  begin(stored: Stored, moment: Moment): Group<Request, Outcome>
}

/** All that deciding a request may read, for an engine that waits for its reads. */
export interface Needs {
  readonly topics: readonly NeededTopic[]
  readonly records: readonly RecordTable[]
}

export interface NeededTopic {
  readonly path: Path
  readonly reads: NeededPart
}

/**
 * What may be read of a topic: what never changes; also what may, except the item, such as its version and when it is due; or
 * all.
 */
export type NeededPart = 'constants' | 'version' | 'item'

export interface Group<Request, Outcome> {
  /** Decides one request, by what is stored and what was decided before. If it throws, it has decided nothing. */
  decide(request: Request): Outcome
  /** Makes the changes that were decided. Nothing may throw here but a defect. */
  end(changes: Changes): void
}

/** The store before a commit. */
export interface Stored {
  /**
   * @param type only a topic of this type is there; undefined for both
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
  /** The first evaluation of its policy; undefined for never. */
  readonly dueMs: number | undefined
  /** Keeps the time of each update from now on. */
  readonly tracksUpdates: boolean
}

/** The changes of a commit. The engine gives each topic that changes the next version, and logs it. */
export interface Changes {
  /** The time of the commit. */
  readonly moment: Moment
  /** @param former the topic that it replaces; undefined if there is none */
  create(topic: NewTopic, former: StoredTopic | undefined): void
  /** @param tracksUpdates true if the time is kept */
  update(path: Path, topic: StoredTopic, item: ItemBytes, tracksUpdates: boolean): void
  remove(path: Path, topic: StoredTopic): void
  /** A change that is undone, or followed by another, in the same commit: it only takes a version. */
  pass(path: Path): void
  /** Sets the version of the change that was made last, before the commit's requests are settled. */
  tellVersion(change: ChangeVersion): void
  /** No change of the topic: its version stays. @param dueMs undefined for never */
  reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): void
  /** Forgets a place that no topic owns. */
  dropDue(place: DuePlace): void
  /** @param value undefined removes the record */
  put(table: RecordTable, name: string, value: Buffer | undefined): void
}
