/**
 * The response bodies on the wire, as types. The API description is generated from them (routes/), comments included.
 * Responses are not serialised from these types, because values are sent as they were stored; a test checks real
 * responses against the types.
 */
import type { Properties, TopicType } from '../topics/topic.js'
import type { ProblemCode } from './problems.js'

interface Versioned {
  /**
   * Version of this change or, if nothing changed, of the topic's last change. Only with with_version; missing if there was
   * no topic to remove.
   *
   * @type uint64
   * @maximum 9007199254740991
   */
  readonly version?: number | undefined
}

/** One topic. */
export interface FetchItem {
  readonly path: string
  readonly type: TopicType
  /**
   * Version of the topic's last change, greater than every earlier version; only with with_version.
   *
   * @type uint64
   * @maximum 9007199254740991
   */
  readonly version?: number | undefined
  /**
   * Time of the topic's last change; only with with_version.
   *
   * @format date-time
   */
  readonly updated?: string | undefined
  /** Exactly as it was sent; missing if the topic has no value, or if with_values is false. */
  readonly value?: unknown
  /** The properties given at creation; only with with_properties. */
  readonly properties?: Properties | undefined
}

/** A path without a topic of the requested type. */
interface MissingItem {
  readonly path: string
  readonly missing: true
}

/** The topics at many paths, in the order of the paths. */
export interface FetchedPaths {
  readonly results: readonly (FetchItem | MissingItem)[]
  /**
   * Number of paths at the end that have no result, because the page is full; request them again.
   *
   * @type uint32
   * @minimum 1
   */
  readonly rest?: number | undefined
}

/** The matches of a selector, as many as fit on a page, in tree order: a topic precedes its descendants. */
export interface FetchPage {
  /** Whether more matches exist; to request them, set `after` to the path of the last result. */
  readonly has_more: boolean
  readonly results: readonly FetchItem[]
}

/** The number of matches of a selector. */
export interface CountAnswer {
  /**
   * Number of topics of the requested type that match.
   *
   * @type uint64
   */
  readonly count: number
}

/** A topic that does not exist, or is not of the requested type. */
interface RemovedItem {
  readonly path: string
  readonly removed: true
}

/** A page of changes, or a part of the current state. */
export interface ChangesPage {
  /** Whether more pages follow; if not, the results so far are the state at one point in time. */
  readonly has_more: boolean
  /** The state of each changed topic; if a path has several results, the last one counts. */
  readonly results: readonly (FetchItem | RemovedItem)[]
  /** Send this as "since" to request the next page. */
  readonly next: string
}

/** A value was set. */
export interface SetAnswer extends Versioned {
  readonly path: string
}

/** A number was added to the value. */
export interface IncrementAnswer extends Versioned {
  readonly path: string
  /** The sum, exact to its last digit. */
  readonly value: number
}

/** The topic exists. */
export interface AddAnswer extends Versioned {
  readonly path: string
  /** Whether this request created it. */
  readonly created: boolean
}

/** Topics were removed. */
export interface RemoveAnswer extends Versioned {
  /**
   * Number of removed topics; 0 if there was no match.
   *
   * @type uint64
   */
  readonly removed: number
}

/** The reason why an operation was rejected, in a batch that is not atomic. */
export interface RefusedAnswer {
  /** Stable; clients may match on it. */
  readonly code: ProblemCode
  /** One sentence that names the error, its place and the allowed values. */
  readonly message: string
}

/** The reason why a line of an upload was rejected. */
export interface RefusedLine extends RefusedAnswer {
  /**
   * Line number, counted from 1.
   *
   * @type uint64
   */
  readonly line: number
}

/** The results of a batch. If the batch is atomic, all of its operations were applied. */
export interface BatchAnswer {
  /** For each operation, in order, the response of its route, or the reason why it was rejected. */
  readonly results: readonly (SetAnswer | IncrementAnswer | AddAnswer | RemoveAnswer | RefusedAnswer)[]
}

/** The body of every error response. */
export interface ErrorAnswer {
  /** Stable; clients may match on it. */
  readonly code: ProblemCode
  /** One sentence that names the error, its place and the allowed values. */
  readonly message: string
  /**
   * Index of the rejected operation, counted from 0; only in the response to a batch.
   *
   * @type uint32
   */
  readonly operation?: number | undefined
  /**
   * Number of durable operations; only in the response to an upload that ended early or had rejected operations.
   *
   * @type uint64
   */
  readonly durable?: number | undefined
  /**
   * Number of rejected operations; only in the response to such an upload.
   *
   * @type uint64
   */
  readonly refused?: number | undefined
  /** The first rejections, at most 100; only in the response to such an upload. */
  readonly lines?: readonly RefusedLine[] | undefined
}
