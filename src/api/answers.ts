/**
 * The answers on the wire, as types from which the API description is generated (validators.ts), comments included. Nothing
 * is printed from them, since values are sent as they were stored; a test holds real answers to them.
 */
import type { TopicType } from '../topics/topic.js'
import type { ProblemCode } from './problems.js'

/** One topic. */
export interface FetchItem {
  readonly path: string
  readonly type: TopicType
  /** As it was sent, to the letter; missing while no value was ever set. */
  readonly value?: unknown
}

/** The matches of a selector, or as many of them as fit, in topic tree order: a topic precedes its descendants. */
export interface FetchPage {
  /** Whether another match exists; ask for it with `after` set to the path of the last result. */
  readonly has_more: boolean
  readonly results: readonly FetchItem[]
}

/** A value was set. */
export interface SetAnswer {
  readonly path: string
}

/** A topic is there. */
export interface AddAnswer {
  readonly path: string
  /** Whether it was not there before. */
  readonly created: boolean
}

/** Topics were removed. */
export interface RemoveAnswer {
  /**
   * How many; 0 when nothing matched.
   *
   * @type uint64
   */
  readonly removed: number
}

/** Every answer that is not a 200. */
export interface ErrorAnswer {
  /** Stable; clients may match on it. */
  readonly code: ProblemCode
  /** One sentence: what is wrong, where, what is allowed. */
  readonly message: string
}
