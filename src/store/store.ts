/**
 * The interface between the service and the engine that stores its topics, in the words of the domain. Each engine has
 * its own folder beside this file. Nothing here depends on a particular engine.
 *
 * What every engine guarantees:
 * - a write's promise resolves once the write is durable, and every read that begins after that, in any process, sees
 *   it;
 * - no read returns what a power cut could undo;
 * - each write decides and writes in one step, so that two writers never both create, or resurrect, a topic;
 * - a failed write is rejected with a `StoreError`, whose kind says what is known about its effect; any other rejection
 *   is a defect.
 *
 * Reads return synchronously or with a promise; those of LMDB are synchronous unless a scan needs more than one slice.
 */
import type { Histogram } from '../base/histogram.js'
import type { Plan } from '../selectors/plan.js'
import type { Constraint } from '../topics/constraint.js'
import type { Path } from '../topics/path.js'
import type { RemovalPolicy } from '../topics/removal/policy.js'
import type { Properties, TopicType } from '../topics/topic.js'

export type Awaitable<T> = T | Promise<T>

/** Nothing at the path, or a topic of the other type. */
export type Absent = 'no_such_topic' | 'incompatible_type'

/**
 * Whether a long operation must stop, usually because its client has gone. The operation checks this before each step
 * and stops with `Cancelled`.
 */
export interface Cancellation {
  readonly cancelled: boolean
}

/** A page to read: up to `size` matches of `plan`, of one type, that sort after `after`, in tree order. */
export interface PageQuery {
  readonly plan: Plan
  readonly type: TopicType
  readonly after: Path | undefined
  /** The largest number of items, at least 1. */
  readonly size: number
  /** The page ends before the item that would make it larger than this, but it has at least one item. */
  readonly bytesMax: number
}

/** Which topics a fetch returns and what it shows of them, where that is not simply the stored items of one type. */
export interface ItemForm {
  readonly type: TopicType | 'any'
  readonly values: boolean
  readonly properties: boolean
  /** Whether items say the version of their topic, and when it was last updated. */
  readonly versions: boolean
}

/**
 * At most `limit` results of each branch. A branch is a path of `depth` segments with everything below it; topics with
 * fewer segments are in none.
 */
export interface BranchLimit {
  /** At least 1. */
  readonly depth: number
  readonly limit: number
}

/** A page of items in another form, or of limited branches. A branch's results up to `after` count towards its limit. */
export interface ListingQuery extends Omit<PageQuery, 'type'> {
  readonly form: ItemForm
  readonly branches: BranchLimit | undefined
}

/**
 * A page: its items, with commas between them, are the bytes of `buffer` from `start` to `end`. The caller may
 * overwrite `pageHeadroom` bytes on either side. The buffer is valid until this turn ends or the next store call.
 */
export interface Page {
  readonly buffer: Buffer
  readonly start: number
  readonly end: number
  /** True if and only if another match sorts after the last item. */
  readonly hasMore: boolean
}

/** Space on either side of a page's items, in bytes: the caller wraps them in it. */
export const pageHeadroom = 64

/** What a topic is created with. */
export interface Creation {
  readonly path: Path
  readonly type: TopicType
  readonly properties: Properties
  /** The REMOVAL among the properties, parsed with them; undefined without one. */
  readonly removal: RemovalPolicy | undefined
}

/** An operation that may create a topic: it has what the topic is created with. */
type CreatingAction = { readonly kind: 'add' | 'addAndSet' } & Creation

/** One operation, without the value that it sets. */
export type WriteAction = {
  /** What must hold for the topic; decided before everything else. */
  readonly constraint?: Constraint | undefined
} & (
  | CreatingAction
  | ({ readonly kind: 'set'; readonly path: Path; readonly type: TopicType } & NotCreating)
  | ({ readonly kind: 'remove'; readonly path: Path; readonly type?: undefined } & NotCreating)
)

/** The members that only an operation has that may create a topic. */
type NotCreating = { readonly [Member in Exclude<keyof Creation, 'path' | 'type'>]?: undefined }

/** One operation. `valueText` is JSON, UTF-8; undefined for those that set no value. */
export type WriteOperation = WriteAction & { readonly valueText: Uint8Array | undefined }

/** What an operation did. */
export type WriteOutcome = 'set' | 'created' | 'updated' | 'present' | 'removed' | 'nothing_removed'

/** Why an operation is refused. */
export type WriteRefusal = Absent | 'incompatible_properties' | 'unsatisfied_constraint'

/** The operation that is refused, by its index. */
export interface RefusedOperation {
  readonly index: number
  readonly action: WriteAction
  readonly refusal: WriteRefusal
}

/** What each operation did, or the first that is refused; nothing has changed then. */
export type BatchResult = readonly WriteOutcome[] | RefusedOperation

/** A complete topic, as export and import need it. `valueText` is a view, valid until the next step of the walk. */
export interface WholeTopic extends Omit<Creation, 'removal'> {
  readonly valueText: Uint8Array | undefined
}

/** An operation that an API key may be allowed. */
export type Operation = 'fetch' | 'set' | 'add' | 'remove'

/** An API key as it is stored: never the token itself, only its SHA-256. */
export interface KeyRecord {
  readonly name: string
  /** SHA-256 of the token, lower-case hexadecimal. */
  readonly tokenHash: string
  readonly allow: readonly Operation[]
  /** The subtrees that the key may touch; empty means all. */
  readonly under: readonly Path[]
  readonly madeMs: number
  /** From then on it is refused, in ms since the epoch; undefined if it has no end. */
  readonly expiresMs?: number
  /** Requests a second, of all workers of one host together; undefined for any number. */
  readonly rate?: number
  /** The token that a rotation replaced, which is good until its own end, or the key's; undefined if there is none. */
  readonly former?: FormerToken
}

interface FormerToken {
  readonly tokenHash: string
  /** From then on it is refused, in ms since the epoch. */
  readonly untilMs: number
}

/** A new token for an API key. */
export interface KeyRotation {
  readonly name: string
  /** That of the key's token until now. The key is rotated only if it still is. */
  readonly formerHash: string
  /** From then on that token is refused, in ms since the epoch; undefined to refuse it at once. */
  readonly formerUntilMs?: number
  /** That of the new token. */
  readonly tokenHash: string
}

/** A broken invariant, in one sentence that names the record. */
export type Finding = string

/** What is stored, for monitoring. */
export interface StoreStats {
  readonly topics: number
  /** What they occupy on disk, free space within the files included. */
  readonly bytes: number
  /** When the last backup was completed, in ms since the epoch; undefined without one, or if the engine makes none. */
  readonly backupMs?: number
}

/** A backup that was made. */
export interface BackupDone {
  readonly records: number
  readonly bytes: number
  /** Why the time of the backup could not be stored, which does not affect the backup; undefined when it was. */
  readonly unnoted?: string
}

/**
 * What this process has committed since its start; counts are live. A batch counts as all its operations. `writes`
 * includes those that failed; whether it includes those in flight depends on the engine.
 */
export interface CommitStats {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  /** How long each commit took, from the start of its first write until it was durable. */
  readonly seconds: Histogram
  /** How many writes each commit made durable. */
  readonly batches: Pick<Histogram, 'read'>
}

/** Bounds for `CommitStats.batches`. */
export const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

/** The disk that the store is on. */
interface StoreDisk {
  /** In bytes; 0 while it cannot be measured. */
  readonly freeBytes: () => number
  /** With less free space than this, writes that add bytes are refused. */
  readonly freeBytesMin: number
  readonly isNearlyFull: () => boolean
}

/** A remove clause that was due and has ended its policy, but removed nothing: its selector is refused today. */
export interface RefusedClause {
  readonly path: Path
  /** What is wrong with the selector, as the end of a sentence. */
  readonly problem: string
}

/** What a call of `removeDue` did. */
export interface DueRemovals {
  readonly removed: number
  readonly refused: readonly RefusedClause[]
  /** When the next one is due, in ms since the epoch: 0 while remove clauses wait, undefined when none is known. */
  readonly nextMs: number | undefined
}

export interface TopicStore {
  /** The topic's fetch result item, valid until this turn ends or the next store call; or why there is none. */
  readTopic(path: Path, type: TopicType): Awaitable<Uint8Array | Absent>
  /** Rejects with `Cancelled` at the next step once `cancellation` is set. */
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
  /** As `readTopic`, in a form. */
  readTopicAs(path: Path, form: ItemForm): Awaitable<Uint8Array | Absent>
  /** As `readPage`, in a form and with a limit for each branch. */
  readListing(query: ListingQuery, cancellation: Cancellation): Awaitable<Page>

  /**
   * Carries out all operations, in order, a later one seeing the earlier ones, in one commit; or, if one is refused,
   * none. No read sees a part of them. Every text in them is copied before the call returns.
   */
  write(operations: readonly WriteOperation[]): Promise<BatchResult>
  /**
   * Removes every match that exists throughout, of either type, in tree order and bounded steps.
   *
   * @returns how many were removed
   */
  removeMatches(plan: Plan, cancellation: Cancellation): Promise<number>
  /**
   * How many topics of a type, or of both, match, counted in bounded steps: of both, as many as `removeMatches` would
   * remove.
   *
   * @throws Cancelled once `cancellation` is set
   */
  countMatches(plan: Plan, type: TopicType | 'any', cancellation: Cancellation): Promise<number>
  /**
   * Removes what is due now. One process must call this again and again; more than one do no harm. Remove clauses that
   * are due continue in the background, and a later call says what came of them.
   */
  removeDue(): Promise<DueRemovals>

  /**
   * Every match, complete, of both types, in tree order, in one snapshot.
   *
   * @throws Cancelled once `cancellation` is set
   */
  walk(plan: Plan, cancellation: Cancellation): AsyncIterable<WholeTopic>

  readKeys(): Awaitable<readonly KeyRecord[]>
  /** A number that changes whenever any process adds, rotates or revokes a key. */
  keysRevision(): Awaitable<number>
  /** False when the name is taken; nothing is changed then. */
  addKey(record: KeyRecord): Promise<boolean>
  /** Stores a key as given, replacing one of the same name. */
  restoreKey(record: KeyRecord): Promise<void>
  /**
   * Gives a key its new token, as `rotated` in key-rotation.ts says. False when there is no such key, or it has got
   * another token meanwhile; nothing is changed then. True, too, when the key has the new token already: so a rotation
   * whose outcome is unknown can be repeated.
   */
  rotateKey(rotation: KeyRotation): Promise<boolean>
  /** False when there is no such key. */
  revokeKey(name: string): Promise<boolean>
  /** When each key was last used, in ms since the epoch; only as current as the last call of `touchKeys`. */
  keyUses(): Awaitable<ReadonlyMap<string, number>>
  touchKeys(uses: ReadonlyMap<string, number>): Promise<void>

  /**
   * Walks everything and reports each broken invariant; `onProgress` gets the number of records examined, and of all.
   */
  check(
    report: (finding: Finding) => void,
    onProgress?: (done: number, total: number) => void,
  ): Promise<{ readonly records: number }>
  /**
   * A consistent copy of everything in a file that must not exist yet; the file gets its name only after the copy was
   * checked. Absent if the engine has its own tools for this.
   *
   * @param freeBytesMin what must stay free on the file's disk
   * @param onProgress may throw, which ends the backup; the engine may continue to copy until the process ends
   * @throws Error with a message for a person; there is no file then
   */
  backup?(
    file: string,
    freeBytesMin: number,
    onProgress: (step: string, done: number, total: number) => void,
  ): Promise<BackupDone>
  stats(): Awaitable<StoreStats>
  /** Absent where another process writes the topics, which reports by itself that its disk is full. */
  readonly disk?: StoreDisk | undefined
  /** Why the store is unavailable now, for a person; undefined while it is available. Absent if it always is. */
  notReady?(): string | undefined
  readonly commits?: CommitStats

  /**
   * Waits for the writes in flight, then releases everything.
   *
   * @throws Error while a backup is still being copied, which cannot be stopped
   */
  close(): Promise<void>
}

/** What is known about a write that failed, or why a read was impossible. */
type StoreErrorKind =
  /** Nothing happened, or only a part of a bulk removal; a retry may succeed. */
  | 'retry'
  /** It may or may not have happened. */
  | 'unknown_outcome'
  /** Nothing happened; there is no space. */
  | 'full'
  /** Nothing happened; the engine cannot be reached. */
  | 'unavailable'

/** Every failure of a store that callers must expect, by kind. */
export class StoreError extends Error {
  constructor(
    readonly kind: StoreErrorKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/**
 * The store cannot be used in its present state. The message says which file or record is wrong, how, and what to do.
 */
export class StoreUnusable extends Error {}

/** The client has gone, so the operation was not finished. */
export class Cancelled extends Error {}
