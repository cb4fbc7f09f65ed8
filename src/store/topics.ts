/**
 * Reading, writing and removing topics, in domain terms. store.ts states the guarantees of every engine; due-removals.ts covers
 * automatic removal.
 *
 * Reads return synchronously or with a promise; LMDB's are synchronous unless a scan needs more than one slice.
 */
import type { Awaitable } from '../base/awaitable.js'
import type { Cancellation } from '../base/cancellation.js'
import type { Plan } from '../selectors/plan.js'
import type { Constraint } from '../topics/constraint.js'
import type { Path } from '../topics/path.js'
import type { RemovalPolicy } from '../topics/removal/policy.js'
import type { Properties, TopicType } from '../topics/topic.js'

export type Absent = 'no_such_topic' | 'incompatible_type'

/** The topics that a read returns, and the parts of them that it shows. */
export interface ItemForm {
  readonly type: TopicType | 'any'
  readonly values: boolean
  readonly properties: boolean
  /** Items include their topic's version and the time of its last update. */
  readonly versions: boolean
}

/** The items of one type, exactly as stored: engines read these fastest. */
export const storedForms = {
  json: { type: 'json', values: true, properties: false, versions: false },
  string: { type: 'string', values: true, properties: false, versions: false },
} as const satisfies Readonly<Record<TopicType, ItemForm>>

export function isStoredForm(form: ItemForm): form is ItemForm & { readonly type: TopicType } {
  return form.type !== 'any' && form.values && !form.properties && !form.versions
}

/** At most `limit` results per branch. A branch is a path of `depth` segments with its subtree; shorter paths are in no branch. */
export interface BranchLimit {
  /** At least 1. */
  readonly depth: number
  readonly limit: number
}

/** A page to read: up to `size` matches of `plan` that sort after `after`, in tree order and in a given form. */
export interface PageQuery {
  readonly plan: Plan
  readonly form: ItemForm
  /** A branch's results up to `after` count towards its limit. */
  readonly branches: BranchLimit | undefined
  readonly after: Path | undefined
  /** Maximum number of items, at least 1. */
  readonly size: number
  /** The page ends before an item that would exceed this, unless that item is its first. */
  readonly bytesMax: number
}

/**
 * A page: its items, separated by commas, are the bytes of `buffer` from `start` to `end`. The caller may overwrite `pageHeadroom`
 * bytes on either side. The buffer is valid until this turn ends or the next store call.
 */
export interface Page {
  readonly buffer: Buffer
  readonly start: number
  /** The start of the last item; for an empty page, of the page. */
  readonly lastStart: number
  readonly end: number
  /** True if and only if another match sorts after the last item. */
  readonly hasMore: boolean
}

/** Bytes on either side of a page's items, in which the caller wraps them. */
export const pageHeadroom = 64

export interface TopicReader {
  /** The topic's item in this form, valid until this turn ends or the next store call; or the reason why it is absent. */
  readTopic(path: Path, form: ItemForm): Awaitable<Uint8Array | Absent>
  /** Rejects with `Cancelled` at the next step once `cancellation` is set. */
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
  /** Counts in bounded steps; `any` counts the same topics that `removeMatches` removes. @throws Cancelled once `cancellation` is set */
  countMatches(plan: Plan, type: TopicType | 'any', cancellation: Cancellation): Promise<number>
}

export interface Creation {
  readonly path: Path
  readonly type: TopicType
  readonly properties: Properties
  /** The parsed REMOVAL property, if any. */
  readonly removal: RemovalPolicy | undefined
}

/** One operation, without its value. */
export type WriteAction = {
  /** Decided first. */
  readonly constraint?: Constraint | undefined
  /** Requests a `Versioned` outcome. */
  readonly wantsVersion?: boolean | undefined
} & (
  | ({ readonly kind: 'add' | 'addAndSet' } & Creation)
  | ({ readonly kind: 'set' | 'increment'; readonly path: Path; readonly type: TopicType } & NotCreating)
  | ({ readonly kind: 'remove'; readonly path: Path; readonly type?: undefined } & NotCreating)
)

/** Rules out the members of operations that may create a topic. */
type NotCreating = { readonly [Member in Exclude<keyof Creation, 'path' | 'type'>]?: undefined }

/** `valueText` is JSON in UTF-8: the value to set, or the number that an increment adds; undefined if the operation has no value. */
export type WriteOperation = WriteAction & { readonly valueText: Uint8Array | undefined }

export type WriteOutcome = WriteEffect | Versioned

/** Effects that one word describes completely, in the order of their numbers in writer/wire.ts. */
export const effects = ['set', 'created', 'updated', 'present', 'removed', 'nothing_removed'] as const

/** For an increment: the value that it has set, as JSON. */
export type WriteEffect = (typeof effects)[number] | { readonly valueText: string }

/** Present if a version was requested and exists: not for `nothing_removed`, and not from a writer of an earlier build. */
export interface Versioned {
  readonly effect: WriteEffect
  /**
   * The version of the operation's own change, even if a later one in the same commit changes the topic; for `present`, the topic's
   * last version.
   */
  readonly change: Readonly<ChangeVersion>
}

/** The version of a change, known once its commit completes. */
export interface ChangeVersion {
  version: number
}

/** In the order of their numbers in writer/wire.ts. */
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

/** Every outcome or refusal; for an atomic batch with a refusal, only the first refusal, and nothing was changed. */
export type BatchResult = readonly (WriteOutcome | WriteRefusal)[] | RefusedOperation

export interface TopicWriter {
  /**
   * Executes all operations in order in one commit; each sees the earlier ones. No read sees only part of them. All views are
   * copied before the call returns.
   *
   * @param isAtomic whether one refusal prevents all operations; true by default
   */
  write(operations: readonly WriteOperation[], isAtomic?: boolean): Promise<BatchResult>
}

export interface TopicRemover {
  /** Removes every match that exists throughout, of either type, in tree order and bounded steps. @returns their number */
  removeMatches(plan: Plan, cancellation: Cancellation): Promise<number>
}

/** A complete topic, for export and import. `valueText` is a view, valid until the next step of the walk. */
export interface WholeTopic extends Omit<Creation, 'removal'> {
  readonly valueText: Uint8Array | undefined
}

export interface TopicWalker {
  /** Yields matches of both types as complete topics, in tree order, from one snapshot. @throws Cancelled once `cancellation` is set */
  walk(plan: Plan, cancellation: Cancellation): AsyncIterable<WholeTopic>
}
