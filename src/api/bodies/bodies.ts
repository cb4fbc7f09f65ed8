/**
 * The request bodies on the wire, as types. The schemas by which bodies are read, and described to clients, are generated from
 * them (shapes.ts), with the descriptions of members: comments and tags such as `@minimum` have an effect here. What a
 * type cannot express (settings, limits in bytes, one of path and selector) is checked in parse.ts.
 */
import type { Properties, TopicType } from '../../topics/topic.js'

/** The body of POST /topics/fetch for one topic. */
export interface FetchByPath {
  /** Path of the topic. */
  readonly path: string
  /** Type of the topic; json by default. With any, a topic of either type. */
  readonly type?: TopicType | 'any'
  /** Whether the result shows the value; true by default. */
  readonly with_values?: boolean
  /** Whether the result shows the properties given at creation; false by default. */
  readonly with_properties?: boolean
  /** Whether the result shows the topic's version, and when it was last updated; false by default. */
  readonly with_version?: boolean
}

/** The body of POST /topics/fetch for many topics by their paths. */
export interface FetchByPaths extends Omit<FetchByPath, 'path'> {
  /** Paths of the topics: the results are in this order, one for each. */
  readonly paths: readonly string[]
}

/** The body of POST /topics/fetch for a page of topics. */
export interface FetchBySelector {
  /** Selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector: string
  /** Type of the topics; json by default. With any, topics of both types. */
  readonly type?: TopicType | 'any'
  /**
   * Maximum number of results on the page; 10 by default.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number
  /** Whether to return only the number of matches; false by default. Only "type" can be given with it. */
  readonly count?: boolean
  /** Results begin after this path in the topic tree; it need not be a topic. */
  readonly after?: string
  /**
   * How many segments the root of a branch has: every result with at least as many is in a branch. Requires
   * deep_branch_limit.
   *
   * @type uint32
   * @minimum 1
   */
  readonly deep_branch_depth?: number
  /**
   * Maximum number of results from each branch, over all pages; with 0, only those in no branch. Requires deep_branch_depth.
   *
   * @type uint32
   */
  readonly deep_branch_limit?: number
  /** Whether results show their values; true by default. */
  readonly with_values?: boolean
  /** Whether results show the properties given at creation; false by default. */
  readonly with_properties?: boolean
  /** Whether results show the topics' versions, and when they were last updated; false by default. */
  readonly with_version?: boolean
}

/** The body of POST /topics/fetch: one of the three, which parse-fetch.ts distinguishes. */
export interface FetchBody
  extends Partial<FetchByPath>,
    Partial<Pick<FetchByPaths, 'paths'>>,
    Partial<Omit<FetchBySelector, keyof FetchByPath>> {}

/** The body of POST /topics/changes, with either path or selector. */
export interface ChangesBody {
  /** Path of the topic. */
  readonly path?: string
  /** Selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector?: string
  /** Type of the topics; json by default. With any, topics of both types. */
  readonly type?: TopicType | 'any'
  /**
   * What the last response gave as next; or now, for what changes from now on. Without it, the present state comes first.
   */
  readonly since?: string
  /**
   * Maximum number of results on the page; 100 by default.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number
  /**
   * How long the response may wait for a change, in seconds; 0 by default. A stream ignores it.
   *
   * @type uint32
   * @maximum 50
   */
  readonly wait?: number
  /** Whether results show their values; true by default. */
  readonly with_values?: boolean
  /** Whether results show the properties given at creation; false by default. */
  readonly with_properties?: boolean
  /** Whether results show the topics' versions, and when they were last updated; false by default. */
  readonly with_version?: boolean
}

/** What must hold for the topic before the operation: exactly one of the members. */
export interface ConstraintBody {
  /** The topic has this value; white space between tokens is ignored. Requires the right to fetch. */
  readonly value?: unknown
  /**
   * The topic's last change has this version, as a fetch shows it. Requires the right to fetch.
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
  /** json by default. */
  readonly type?: TopicType
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/set to add to a number. */
export interface IncrementBody {
  /** Path of the topic, whose value is a number. */
  readonly path: string
  /** What is added to the value: any number of at most 1,000 digits. Requires the right to fetch as well. */
  readonly increment: number
  /** json by default. */
  readonly type?: TopicType
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/set: one of the two, which parse.ts distinguishes. */
export interface SetOrIncrementBody
  extends Omit<SetBody, 'value'>,
    Partial<Pick<SetBody, 'value'>>,
    Partial<Pick<IncrementBody, 'increment'>> {}

/** The body of POST /topics/addAndSet. */
export interface AddAndSetBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** json by default. */
  readonly type?: TopicType
  /** No properties by default. */
  readonly properties?: Properties
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/add. */
export interface AddBody {
  /** Path of the topic. */
  readonly path: string
  /** json by default. */
  readonly type?: TopicType
  /** No properties by default. */
  readonly properties?: Properties
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/remove for one topic. */
export interface RemoveByPath {
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
  /** Whether to only report whether the topic would be removed. */
  readonly dry_run?: boolean
}

/** The body of POST /topics/remove for many topics. */
export interface RemoveBySelector {
  /** Selects the topics, which are removed whatever their type. */
  readonly selector: string
  /** Whether to only count the topics that would be removed. */
  readonly dry_run?: boolean
}

/** The body of POST /topics/remove: one of the two, which parse.ts distinguishes. */
export interface RemoveBody extends Partial<RemoveByPath>, Partial<RemoveBySelector> {}

/** One operation of a batch that sets a value. */
interface SetOperation extends SetBody {
  /** The name of its route. */
  readonly op: 'set'
}

/** One operation of a batch that adds to a number. */
export interface IncrementOperation extends IncrementBody {
  /** Either name: the route of set takes an increment. */
  readonly op: 'increment' | 'set'
}

/** One operation of a batch that creates a topic if it does not exist, and sets its value. */
interface AddAndSetOperation extends AddAndSetBody {
  /** The name of its route. */
  readonly op: 'addAndSet'
}

/** One operation of a batch that creates a topic without a value. */
interface AddOperation extends AddBody {
  /** The name of its route. */
  readonly op: 'add'
}

/** One operation of a batch that removes a topic. */
interface RemoveOperation {
  /** The name of its route. */
  readonly op: 'remove'
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** No constraint by default. */
  readonly constraint?: ConstraintBody
}

/** The body of POST /topics/batch. */
export interface BatchBody {
  /** Carried out in this order; each sees the effects of those before it. */
  readonly operations: readonly (
    | SetOperation
    | IncrementOperation
    | AddAndSetOperation
    | AddOperation
    | RemoveOperation
  )[]
  /** Whether none is carried out if one is refused; true by default. */
  readonly atomic?: boolean
}
