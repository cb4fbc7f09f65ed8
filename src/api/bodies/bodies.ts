/**
 * The request bodies on the wire, as types. The validators and the schemas of the API description are generated from
 * them (validators.ts), and so are the descriptions of members: comments and tags such as `@minimum` have an effect
 * here. What a type cannot express (settings, limits in bytes, one of path and selector) is checked in parse.ts.
 */
import type { Properties, TopicType } from '../../topics/topic.js'

/** The body of POST /topics/fetch for one topic. */
export interface FetchByPath {
  /** Path of the topic. */
  readonly path: string
  /** Type of the topic; json when absent. With any, whatever topic is there. */
  readonly type?: TopicType | 'any'
  /** Whether the result shows the value; true when absent. */
  readonly with_values?: boolean
  /** Whether the result shows the properties given at creation; false when absent. */
  readonly with_properties?: boolean
  /** Whether the result shows the topic's version, and when it was last updated; false when absent. */
  readonly with_version?: boolean
}

/** The body of POST /topics/fetch for a page of topics. */
export interface FetchBySelector {
  /** What selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector: string
  /** Type of the topics; json when absent. Topics of the other type are left out, unless it is any. */
  readonly type?: TopicType | 'any'
  /**
   * Results on a page; 10 when absent.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number
  /** Whether only the number of matches is wanted, without results; false when absent. */
  readonly count?: boolean
  /** Results begin after this path in the topic tree; it need not be a topic. */
  readonly after?: string
  /**
   * Segments of a branch's root: every result with at least so many is in a branch. Together with deep_branch_limit.
   *
   * @type uint32
   * @minimum 1
   */
  readonly deep_branch_depth?: number
  /**
   * Results of each branch, over all pages. Together with deep_branch_depth.
   *
   * @type uint32
   */
  readonly deep_branch_limit?: number
  /** Whether results show their values; true when absent. */
  readonly with_values?: boolean
  /** Whether results show the properties given at creation; false when absent. */
  readonly with_properties?: boolean
  /** Whether results show the topics' versions, and when they were last updated; false when absent. */
  readonly with_version?: boolean
}

/** The body of POST /topics/fetch: one of the two, which parse-fetch.ts distinguishes. */
export interface FetchBody extends Partial<FetchByPath>, Partial<Omit<FetchBySelector, keyof FetchByPath>> {}

/** What must hold for the topic before the operation: exactly one of the members. */
export interface ConstraintBody {
  /** The topic has this value, white space between tokens aside. Needs the right to fetch. */
  readonly value?: unknown
  /**
   * The topic's last change has this version, as a fetch shows it. Needs the right to fetch.
   *
   * @type uint64
   * @maximum 9007199254740991
   */
  readonly version?: number
  /** The topic exists and has no value. */
  readonly no_value?: true
  /** There is no topic. */
  readonly no_topic?: true
}

/** The body of POST /topics/set. */
export interface SetBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** json when absent. */
  readonly type?: TopicType
  /** None when absent. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/addAndSet. */
export interface AddAndSetBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** json when absent. */
  readonly type?: TopicType
  /** Empty when absent. */
  readonly properties?: Properties
  /** None when absent. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/add. */
export interface AddBody {
  /** Path of the topic. */
  readonly path: string
  /** json when absent. */
  readonly type?: TopicType
  /** Empty when absent. */
  readonly properties?: Properties
  /** None when absent. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/remove for one topic. */
export interface RemoveByPath {
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** None when absent. */
  readonly constraint?: ConstraintBody
  /** Whether only the answer is wanted: nothing is removed then. */
  readonly dry_run?: boolean
}

/** The body of POST /topics/remove for many topics. */
export interface RemoveBySelector {
  /** What selects the topics, which are removed whatever their type. */
  readonly selector: string
  /** Whether only the count is wanted: nothing is removed then. */
  readonly dry_run?: boolean
}

/** The body of POST /topics/remove: one of the two, which parse.ts distinguishes. */
export interface RemoveBody extends Partial<RemoveByPath>, Partial<RemoveBySelector> {}

/** One operation of a batch that sets a value. */
export interface SetOperation extends SetBody {
  /** The name of its route. */
  readonly op: 'set'
}

/** One operation of a batch that creates a topic if it does not exist, and sets its value. */
export interface AddAndSetOperation extends AddAndSetBody {
  /** The name of its route. */
  readonly op: 'addAndSet'
}

/** One operation of a batch that creates a topic without a value. */
export interface AddOperation extends AddBody {
  /** The name of its route. */
  readonly op: 'add'
}

/** One operation of a batch that removes a topic. */
export interface RemoveOperation {
  /** The name of its route. */
  readonly op: 'remove'
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** None when absent. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/batch. */
export interface BatchBody {
  /** Carried out in this order, all or none, a later one seeing the earlier ones. */
  readonly operations: readonly (SetOperation | AddAndSetOperation | AddOperation | RemoveOperation)[]
}

/** The same before its operations are checked one by one. */
export interface UncheckedBatch {
  readonly operations: readonly unknown[]
}
