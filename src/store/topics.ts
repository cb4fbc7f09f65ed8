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

export type Absent = 'no_such_topic' | 'incompatible_type'

/** Which topics a read returns, and what it shows of them. */
export interface ItemForm {
  readonly type: TopicType | 'any'
  readonly values: boolean
  readonly properties: boolean
  /** Items include their topic's version and the time of its last update. */
  readonly versions: boolean
}

/** The items of one type as they are stored, without anything else: engines have their fastest ways for these. */
export const storedForms = {
  json: { type: 'json', values: true, properties: false, versions: false },
  string: { type: 'string', values: true, properties: false, versions: false },
} as const satisfies Readonly<Record<TopicType, ItemForm>>

export function isStoredForm(form: ItemForm): form is ItemForm & { readonly type: TopicType } {
  return form.type !== 'any' && form.values && !form.properties && !form.versions
}

/** At most `limit` results of each branch, a path of `depth` segments with all below it. Shorter paths are in none. */
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

export interface TopicReader {
  /** The topic's item in this form, valid until this turn ends or the next store call; or why there is none. */
  readTopic(path: Path, form: ItemForm): Awaitable<Uint8Array | Absent>
  /** Rejects with `Cancelled` at the next step once `cancellation` is set. */
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
  /** In bounded steps; `any` counts as `removeMatches` would remove. @throws Cancelled once `cancellation` is set */
  countMatches(plan: Plan, type: TopicType | 'any', cancellation: Cancellation): Promise<number>
}

export interface Creation {
  readonly path: Path
  readonly type: TopicType
  readonly properties: Properties
  /** The REMOVAL among the properties, parsed with them; undefined without one. */
  readonly removal: RemovalPolicy | undefined
}

/** One operation, without the value that it sets. */
export type WriteAction = {
  /** Decided before everything else. */
  readonly constraint?: Constraint | undefined
  /** Its outcome is to be `Versioned`. */
  readonly wantsVersion?: boolean | undefined
} & (
  | ({ readonly kind: 'add' | 'addAndSet' } & Creation)
  | ({ readonly kind: 'set' | 'increment'; readonly path: Path; readonly type: TopicType } & NotCreating)
  | ({ readonly kind: 'remove'; readonly path: Path; readonly type?: undefined } & NotCreating)
)

/** The members that only an operation has that may create a topic. */
type NotCreating = { readonly [Member in Exclude<keyof Creation, 'path' | 'type'>]?: undefined }

/** `valueText` is JSON in UTF-8: the value to set, or the number that an increment adds; undefined without one. */
export type WriteOperation = WriteAction & { readonly valueText: Uint8Array | undefined }

export type WriteOutcome = WriteEffect | Versioned

/** Effects that one word describes in full, in the order of their numbers in writer/wire.ts. */
export const effects = ['set', 'created', 'updated', 'present', 'removed', 'nothing_removed'] as const

/** That of an increment is the value that it has set, as JSON. */
export type WriteEffect = (typeof effects)[number] | { readonly valueText: string }

/** Given if it is wanted and there is one: not for `nothing_removed`, and not by a writer of an earlier build. */
export interface Versioned {
  readonly effect: WriteEffect
  /** The operation's own, even if a later one of the same commit changes the topic; for `present`, the topic's last one. */
  readonly change: Readonly<ChangeVersion>
}

/** The version of a change, which is known once its commit is made. */
export interface ChangeVersion {
  version: number
}

/** In the same order. */
export const refusals = [
  'no_such_topic',
  'incompatible_type',
  'incompatible_properties',
  'unsatisfied_constraint',
  'not_a_number',
] as const

export type WriteRefusal = (typeof refusals)[number]

export interface RefusedOperation {
  readonly index: number
  readonly refusal: WriteRefusal
}

/** Each outcome or refusal; of an atomic batch with a refusal, only its first one, and nothing has changed. */
export type BatchResult = readonly (WriteOutcome | WriteRefusal)[] | RefusedOperation

export interface TopicWriter {
  /**
   * Carries out all operations, in order, a later one seeing the earlier ones, in one commit. No read sees a part of them.
   * Every text in them is copied before the call returns.
   *
   * @param isAtomic whether none is carried out if one is refused; true by default
   */
  write(operations: readonly WriteOperation[], isAtomic?: boolean): Promise<BatchResult>
}

export interface TopicRemover {
  /** Removes every match that exists throughout, of either type, in tree order and bounded steps. @returns how many */
  removeMatches(plan: Plan, cancellation: Cancellation): Promise<number>
}

/** A complete topic, as export and import need it. `valueText` is a view, valid until the next step of the walk. */
export interface WholeTopic extends Omit<Creation, 'removal'> {
  readonly valueText: Uint8Array | undefined
}

export interface TopicWalker {
  /** Matches of both types, complete, in tree order, in one snapshot. @throws Cancelled once `cancellation` is set */
  walk(plan: Plan, cancellation: Cancellation): AsyncIterable<WholeTopic>
}
