/**
 * The seam between the service and whatever keeps its topics: one interface in the words of the domain. An engine lives in
 * a folder of its own beside this file; nothing here knows one, and nothing above this file does either.
 *
 * What every engine promises:
 * - a write's promise resolves once the write is durable, and every read that begins after that, in any process, sees it;
 * - no read returns what a power cut could take back;
 * - each write decides and writes in one step, so that two writers never both create, or resurrect, a topic;
 * - a rejected write carries a `StoreError`, whose kind says what is known of it.
 *
 * Reads may answer at once or with a promise; LMDB answers at once.
 */
import type { Histogram } from '../histogram.js'
import type { Plan } from '../selectors/plan.js'
import type { Path } from '../topics/path.js'
import type { RemovalPolicy } from '../topics/removal-policy.js'
import type { Properties, TopicType } from '../topics/topic.js'

export type Awaitable<T> = T | Promise<T>

/** Nothing at the path, or a topic of the other type. */
export type Absent = 'no_such_topic' | 'incompatible_type'

/** Asks whether the one who waits for a long piece of work has gone; the work then stops at its next step. */
export interface Cancellation {
  readonly cancelled: boolean
}

/** A page to read: up to `size` matches of `plan`, in tree order, of one type, that sort after `after`. */
export interface PageQuery {
  readonly plan: Plan
  readonly type: TopicType
  readonly after: Path | undefined
  /** Items at most, 1 or more. */
  readonly size: number
  /** The page ends before the item that would make it larger than this; it holds one item at least. */
  readonly bytesMax: number
}

/**
 * A page: its items with commas between them are the bytes of `buffer` from `start` to `end`. At least `pageHeadroom`
 * bytes before and after them are the reader's to write into. The buffer is the reader's until its current turn ends or
 * it calls the store again.
 */
export interface Page {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  /** True if and only if another match sorts after the last item. */
  readonly hasMore: boolean
}

/** Room around a page's items for what the reader wraps them in, in bytes. */
export const pageHeadroom = 64

/** What a topic is created with. */
export interface Creation {
  readonly path: Path
  readonly type: TopicType
  readonly properties: Properties
  /** The REMOVAL among the properties, parsed with them; undefined without one. */
  readonly removal: RemovalPolicy | undefined
}

/** One topic whole, as export and import carry it. `valueText` is a view, good until the next step of the walk. */
export interface WholeTopic extends Omit<Creation, 'removal'> {
  readonly valueText: Uint8Array | undefined
}

/** An operation that a key may be allowed. */
export type Operation = 'fetch' | 'set' | 'add' | 'remove'

/** An API key as it is stored: never the token, only its SHA-256. */
export interface KeyRecord {
  readonly name: string
  /** SHA-256 of the token, lower-case hexadecimal. */
  readonly tokenHash: string
  readonly allow: readonly Operation[]
  /** The subtrees that the key may touch; empty means all. */
  readonly under: readonly Path[]
  readonly madeMs: number
}

/** A broken invariant, in one sentence that names the record. */
export type Finding = string

/** What is stored, for those who watch. */
export interface StoreStats {
  readonly topics: number
  /** What they take on disk, room for more included. */
  readonly bytes: number
  /** When the last backup was done, in ms since the epoch; undefined without one, or where the engine makes none. */
  readonly backupMs?: number
}

/** A backup that was made. */
export interface BackupDone {
  readonly records: number
  readonly bytes: number
  /** Why the store could not note when it was made, which takes nothing from the backup; undefined when it did. */
  readonly unnoted?: string
}

/**
 * What this process has committed since its start, where the engine commits in this process; counts are live. At any
 * moment `writes` are those in `batches` and those `inFlight`.
 */
export interface CommitStats {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  /** How long a commit took, from its first write's start until it was durable. */
  readonly seconds: Histogram
  /** How many writes a commit made durable together. */
  readonly batches: Pick<Histogram, 'read'>
}

/** What became of the removals that were due. */
export interface DueRemovals {
  readonly removed: number
  /** When the next one is due, in ms since the epoch: 0 while clauses wait, undefined when none is known. */
  readonly nextMs: number | undefined
}

export interface TopicStore {
  /** The topic's fetch result item, good until the turn ends or the store is called again; or why there is none. */
  readTopic(path: Path, type: TopicType): Awaitable<Uint8Array | Absent>
  /** Stops early, with a rejected promise, when `cancellation` says so. */
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>

  /** `valueText` (JSON, UTF-8) is copied before the call returns; this holds for every write. */
  set(path: Path, type: TopicType, valueText: Uint8Array): Promise<'set' | Absent>
  add(creation: Creation): Promise<'created' | 'present'>
  addAndSet(
    creation: Creation,
    valueText: Uint8Array,
  ): Promise<'created' | 'updated' | 'incompatible_type' | 'incompatible_properties'>
  /** Removes the topic alone, not its descendants. */
  remove(path: Path): Promise<boolean>
  /** Removes every match that stands throughout, of either type, in tree order and bounded steps; answers how many. */
  removeMatches(plan: Plan, cancellation: Cancellation): Promise<number>
  /**
   * Removes what is due by now; one process at a time needs to, more do no harm. The remove clauses that are due go on
   * behind it, and are counted by a later call.
   */
  removeDue(): Promise<DueRemovals>

  /**
   * Every match whole, of both types, in tree order; a consistent cut where the engine can give one.
   *
   * @throws Cancelled when `cancellation` says so
   */
  walk(plan: Plan, cancellation: Cancellation): AsyncIterable<WholeTopic>

  readKeys(): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever a key is added or revoked, by any process. */
  keysRevision(): Awaitable<number>
  /** False, and nothing changed, when the name is taken. */
  addKey(record: KeyRecord): Promise<boolean>
  /** Stores a key as it is given, replacing one of the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /** False when there is no such key. */
  revokeKey(name: string): Promise<boolean>
  /** When each key was last used, in ms since the epoch, as coarsely as `touchKeys` is called. */
  keyUses(): Awaitable<ReadonlyMap<string, number>>
  touchKeys(uses: ReadonlyMap<string, number>): Promise<void>

  /** Walks everything and reports each broken invariant; tells how many of how many records it has looked at, if asked. */
  check(
    report: (finding: Finding) => void,
    onProgress?: (done: number, total: number) => void,
  ): Promise<{ readonly records: number }>
  /**
   * A consistent copy of everything in a file that must not exist, found sound before it gets its name. Missing where the
   * engine has tools of its own for this.
   *
   * @param freeBytesMin what has to stay free on the file's disk
   * @param onProgress may throw, which ends the backup; the engine may go on copying until the process ends
   * @throws Error with a message for a person; no file is there then
   */
  backup?(
    file: string,
    freeBytesMin: number,
    onProgress: (step: string, done: number, total: number) => void,
  ): Promise<BackupDone>
  stats(): Awaitable<StoreStats>
  /** Why the store is unavailable at the moment, for a person; undefined while it is not. Missing where it never is. */
  notReady?(): string | undefined
  readonly commits?: CommitStats

  /**
   * Resolves once no write is in flight; from then on writes wait until `release`. See cluster/store-opening.ts for why; an engine
   * that any number of processes may open at any time does nothing here.
   */
  pauseWrites(): Promise<void>
  resumeWrites(): void
  /**
   * Waits for the writes in flight, then lets go of everything.
   *
   * @throws Error while a backup is still being copied, which nothing can stop
   */
  close(): Promise<void>
}

/** What is known of a write that failed, or why a read could not be made. */
export type StoreErrorKind =
  /** Nothing happened, or of a bulk removal a part; trying again may succeed. */
  | 'retry'
  /** It may or may not have happened. */
  | 'unknown_outcome'
  /** Nothing happened; there is no room. */
  | 'full'
  /** Nothing happened; the engine cannot be reached. */
  | 'unavailable'

/** The closed set of failures of the seam. */
export class StoreError extends Error {
  constructor(
    readonly kind: StoreErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Of the kind `unknown_outcome`: the engine in this process can no longer be trusted, and the process is ending. */
export class CommitFailed extends StoreError {
  constructor(message: string, options?: ErrorOptions) {
    super('unknown_outcome', message, options)
  }
}

/** The store cannot be used as it is; the message tells a person which file or record is wrong, how, and what to do. */
export class StoreUnusable extends Error {}

/** The waiting one has gone, so the work was not finished. */
export class Cancelled extends Error {}
