/**
 * The answers on the wire, as types from which the API description is generated (routes/), comments included.
 * Answers are not serialised from them, since values are sent as they were stored; a test checks real answers against
 * them.
 */
import type { Properties, TopicType } from '../topics/topic.js'
import type { ProblemCode } from './problems.js'

interface Versioned {
  /**
   * That of this change or, if nothing changed, of the topic's last one; only with with_version. Removing nothing has none.
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
   * That of its last change, greater than every earlier one; only with with_version.
   *
   * @type uint64
   * @maximum 9007199254740991
   */
  readonly version?: number | undefined
  /**
   * When that change was made; only with with_version.
   *
   * @format date-time
   */
  readonly updated?: string | undefined
  /** Exactly as it was sent; missing while the topic has no value, or without with_values. */
  readonly value?: unknown
  /** Those given at creation; only with with_properties. */
  readonly properties?: Properties | undefined
}

/** A path at which there is no topic, or none of the type that was asked for. */
interface MissingItem {
  readonly path: string
  readonly missing: true
}

/** The topics at many paths, in the order of the paths. */
export interface FetchedPaths {
  readonly results: readonly (FetchItem | MissingItem)[]
  /**
   * How many of the last paths have no result, because a page has no room for them; request them again.
   *
   * @type uint32
   * @minimum 1
   */
  readonly rest?: number | undefined
}

/** The matches of a selector, or as many of them as fit, in topic tree order: a topic precedes its descendants. */
export interface FetchPage {
  /** Whether another match exists; request it with `after` set to the path of the last result. */
  readonly has_more: boolean
  readonly results: readonly FetchItem[]
}

/** The matches of a selector were counted. */
export interface CountAnswer {
  /**
   * How many topics of the requested type match.
   *
   * @type uint64
   */
  readonly count: number
}

/** A topic that is not there, or not of the type that was asked for. */
interface RemovedItem {
  readonly path: string
  readonly removed: true
}

/** What changed, or a part of the present state. */
export interface ChangesPage {
  /** Whether there is more; if not, the results so far are the state of one moment. */
  readonly has_more: boolean
  /** Each topic as it is now; of several results for one path, the last counts. */
  readonly results: readonly (FetchItem | RemovedItem)[]
  /** To be sent as since for the next page. */
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
   * How many; 0 when nothing matched.
   *
   * @type uint64
   */
  readonly removed: number
}

/** Why an operation was refused, in a batch that is not atomic. */
export interface RefusedAnswer {
  /** Stable; clients may match on it. */
  readonly code: ProblemCode
  /** One sentence: what is wrong, where, what is allowed. */
  readonly message: string
}

/** Why a line of an upload was refused. */
export interface RefusedLine extends RefusedAnswer {
  /**
   * The number of the line, from 1.
   *
   * @type uint64
   */
  readonly line: number
}

/** The operations of a batch were carried out, all of them if it is atomic. */
export interface BatchAnswer {
  /** For each operation, in order, the response of its route, or why it was refused. */
  readonly results: readonly (SetAnswer | IncrementAnswer | AddAnswer | RemoveAnswer | RefusedAnswer)[]
}

/** Every response that is not a 200. */
export interface ErrorAnswer {
  /** Stable; clients may match on it. */
  readonly code: ProblemCode
  /** One sentence: what is wrong, where, what is allowed. */
  readonly message: string
  /**
   * In the response to a batch, if one of its operations is refused: its index.
   *
   * @type uint32
   */
  readonly operation?: number | undefined
  /**
   * In the response to an upload of which something was refused, or that ended early: how many operations are durable.
   *
   * @type uint64
   */
  readonly durable?: number | undefined
  /**
   * In the same: how many operations were refused.
   *
   * @type uint64
   */
  readonly refused?: number | undefined
  /** In the same: the first refusals, at most 100. */
  readonly lines?: readonly RefusedLine[] | undefined
}
