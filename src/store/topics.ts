/**
 * Topics as every engine stores them: reading, writing and removing them, in the words of the domain. What each engine
 * guarantees is in store.ts. What falls due by itself is in due-removals.ts.
 *
 * Reads return synchronously or with a promise; those of LMDB are synchronous unless a scan needs more than one slice.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { Cancellation } from '../base/cancellation.js'
import type { Plan } from '../selectors/plan.js'
import type { Constraint } from '../topics/constraint.js'
import type { Path } from '../topics/path.js'
import type { RemovalPolicy } from '../topics/removal/policy.js'
import type { Properties, TopicType } from '../topics/topic.js'

/** Nothing at the path, or a topic of the other type. */
export type Absent = 'no_such_topic' | 'incompatible_type'

/** Which topics a read returns, and what it shows of them. */
export interface ItemForm {
  readonly type: TopicType | 'any'
  readonly values: boolean
  readonly properties: boolean
  /** Whether items say the version of their topic, and when it was last updated. */
  readonly versions: boolean
}

/** The items of one type as they are stored, without anything else: engines have their fastest ways for these. */
export const storedForms = {
  json: { type: 'json', values: true, properties: false, versions: false },
  string: { type: 'string', values: true, properties: false, versions: false },
} as const satisfies Readonly<Record<TopicType, ItemForm>>

/** Whether a form is one of `storedForms`, or like one. */
export function isStoredForm(form: ItemForm): form is ItemForm & { readonly type: TopicType } {
  return form.type !== 'any' && form.values && !form.properties && !form.versions
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

/** A page to read: up to `size` matches of `plan`, in a form, that sort after `after`, in tree order. */
export interface PageQuery {
  readonly plan: Plan
  readonly form: ItemForm
  /** A branch's results up to `after` count towards its limit. */
  readonly branches: BranchLimit | undefined
  readonly after: Path | undefined
  /** The largest number of items, at least 1. */
  readonly size: number
  /** The page ends before the item that would make it larger than this, but it has at least one item. */
  readonly bytesMax: number
}

/**
 * A page: its items, with commas between them, are the bytes of `buffer` from `start` to `end`. The caller may
 * overwrite `pageHeadroom` bytes on either side. The buffer is valid until this turn ends or the next store call.
 */
export interface Page {
  readonly buffer: Buffer
  readonly start: number
  /** Where the last item begins; of an empty page, its start. */
  readonly lastStart: number
  readonly end: number
  /** True if and only if another match sorts after the last item. */
  readonly hasMore: boolean
}

/** Space on either side of a page's items, in bytes: the caller wraps them in it. */
export const pageHeadroom = 64

/** Reading topics as clients see them. */
export interface TopicReader {
  /** The topic's item in this form, valid until this turn ends or the next store call; or why there is none. */
  readTopic(path: Path, form: ItemForm): Awaitable<Uint8Array | Absent>
  /** Rejects with `Cancelled` at the next step once `cancellation` is set. */
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
  /**
   * How many topics of a type, or of both, match, counted in bounded steps: of both, as many as `removeMatches` would
   * remove.
   *
   * @throws Cancelled once `cancellation` is set
   */
  countMatches(plan: Plan, type: TopicType | 'any', cancellation: Cancellation): Promise<number>
}

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
  | ({ readonly kind: 'increment'; readonly path: Path; readonly type: TopicType } & NotCreating)
  | ({ readonly kind: 'remove'; readonly path: Path; readonly type?: undefined } & NotCreating)
)

/** The members that only an operation has that may create a topic. */
type NotCreating = { readonly [Member in Exclude<keyof Creation, 'path' | 'type'>]?: undefined }

/**
 * One operation. `valueText` is JSON, UTF-8: the value that it sets, or the number that an increment adds to the value;
 * undefined for those that set no value.
 */
export type WriteOperation = WriteAction & { readonly valueText: Uint8Array | undefined }

/** What an operation did. */
export type WriteOutcome = 'set' | 'created' | 'updated' | 'present' | 'removed' | 'nothing_removed' | Incremented

/** The value that an increment has set, as JSON. */
export interface Incremented {
  readonly valueText: string
}

/** Why an operation is refused. */
export type WriteRefusal = Absent | 'incompatible_properties' | 'unsatisfied_constraint' | 'not_a_number'

/** The operation that is refused, by its index. */
export interface RefusedOperation {
  readonly index: number
  readonly action: WriteAction
  readonly refusal: WriteRefusal
}

/**
 * What each operation did; of an atomic batch, the first that is refused, and nothing has changed then; of another one, also
 * why an operation is refused, which has changed nothing.
 */
export type BatchResult = readonly (WriteOutcome | WriteRefusal)[] | RefusedOperation

/** Every change of topics at paths that the caller knows. */
export interface TopicWriter {
  /**
   * Carries out all operations, in order, a later one seeing the earlier ones, in one commit. No read sees a part of them.
   * Every text in them is copied before the call returns.
   *
   * @param isAtomic whether none is carried out if one is refused; true by default
   */
  write(operations: readonly WriteOperation[], isAtomic?: boolean): Promise<BatchResult>
}

/** Removing what a selector matches. */
export interface TopicRemover {
  /**
   * Removes every match that exists throughout, of either type, in tree order and bounded steps.
   *
   * @returns how many were removed
   */
  removeMatches(plan: Plan, cancellation: Cancellation): Promise<number>
}

/** A complete topic, as export and import need it. `valueText` is a view, valid until the next step of the walk. */
export interface WholeTopic extends Omit<Creation, 'removal'> {
  readonly valueText: Uint8Array | undefined
}

/** Reading everything that is stored of topics. */
export interface TopicWalker {
  /**
   * Every match, complete, of both types, in tree order, in one snapshot.
   *
   * @throws Cancelled once `cancellation` is set
   */
  walk(plan: Plan, cancellation: Cancellation): AsyncIterable<WholeTopic>
}
