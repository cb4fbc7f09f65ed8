/**
 * The request bodies on the wire, as types. The schemas by which bodies are read, and described to clients, are generated from
 * them (shapes.ts), with the descriptions of members: comments and tags such as `@minimum` have an effect here. What a
 * type cannot express (settings, limits in bytes, one of path and selector) is checked in parse.ts.
 */
import type { Properties, TopicType } from '../../topics/topic.js'

/** Which topics a request shows, and what of them. */
interface FormBody {
  /** Type of the topics; json by default. With any, topics of both types. */
  readonly type?: TopicType | 'any' | undefined
  /** Whether results show their values; true by default. */
  readonly with_values?: boolean | undefined
  /** Whether results show the properties given at creation; false by default. */
  readonly with_properties?: boolean | undefined
  /** Whether results show the topics' versions, and when they were last updated; false by default. */
  readonly with_version?: boolean | undefined
}

/** The body of POST /topics/fetch for one topic. */
export interface FetchByPath extends FormBody {
  /** Path of the topic. */
  readonly path: string
}

/** The body of POST /topics/fetch for many topics by their paths. */
export interface FetchByPaths extends FormBody {
  /** Paths of the topics: the results are in this order, one for each. */
  readonly paths: readonly string[]
}

/** The body of POST /topics/fetch for a page of topics. */
export interface FetchBySelector extends FormBody {
  /** Selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector: string
  /**
   * Maximum number of results on the page; 10 by default.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number | undefined
  /** Whether to return only the number of matches; false by default. Only "type" can be given with it. */
  readonly count?: boolean | undefined
  /** Results begin after this path in the topic tree; it need not be a topic. */
  readonly after?: string | undefined
  /**
   * How many segments the root of a branch has: every result with at least as many is in a branch. Requires
   * deep_branch_limit.
   *
   * @type uint32
   * @minimum 1
   */
  readonly deep_branch_depth?: number | undefined
  /**
   * Maximum number of results from each branch, over all pages; with 0, only those in no branch. Requires deep_branch_depth.
   *
   * @type uint32
   */
  readonly deep_branch_limit?: number | undefined
}

/** The body of POST /topics/fetch: one of the three, which parse-fetch.ts distinguishes. */
export type FetchBody = Partial<FetchByPath & FetchByPaths & FetchBySelector>

/** The body of POST /topics/changes, with either path or selector. */
export interface ChangesBody extends FormBody {
  /** Path of the topic. */
  readonly path?: string | undefined
  /** Selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector?: string | undefined
  /**
   * What the last response gave as next; or now, for what changes from now on. Without it, the present state comes first.
   */
  readonly since?: string | undefined
  /**
   * Maximum number of results on the page; 100 by default.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number | undefined
  /**
   * How long the response may wait for a change, in seconds; 0 by default. A stream ignores it.
   *
   * @type uint32
   * @maximum 50
   */
  readonly wait?: number | undefined
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
  readonly version?: number | undefined
  /** The topic exists and has no value. */
  readonly no_value?: true | undefined
  /** There is no topic. */
  readonly no_topic?: true | undefined
}

/** What any write may have. */
interface WriteBody {
  /** No constraint by default. */
  readonly constraint?: ConstraintBody | undefined
  /**
   * Whether the response shows the version of the change, or the topic's last one if nothing changes; false by default.
   * Requires the right to fetch.
   */
  readonly with_version?: boolean | undefined
}

interface TypedWriteBody extends WriteBody {
  /** json by default. */
  readonly type?: TopicType | undefined
}

/** The body of POST /topics/set. */
export interface SetBody extends TypedWriteBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
}

/** The body of POST /topics/set to add to a number. */
export interface IncrementBody extends TypedWriteBody {
  /** Path of the topic, whose value is a number. */
  readonly path: string
  /** What is added to the value: any number of at most 1,000 digits. Requires the right to fetch as well. */
  readonly increment: number
}

/** The body of POST /topics/set: one of the two, which parse.ts distinguishes. */
export type SetOrIncrementBody = Partial<SetBody & IncrementBody>

/** The body of POST /topics/addAndSet. */
export interface AddAndSetBody extends TypedWriteBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** No properties by default. */
  readonly properties?: Properties | undefined
  /**
   * The topic is removed after so long without an update: a whole number and s, m, h or d, such as 15m. Short for the
   * property REMOVAL "when no updates for 15m".
   */
  readonly ttl?: string | undefined
}

/** The body of POST /topics/add. */
export interface AddBody extends TypedWriteBody {
  /** Path of the topic. */
  readonly path: string
  /** No properties by default. */
  readonly properties?: Properties | undefined
  /**
   * The topic is removed after so long without an update: a whole number and s, m, h or d, such as 15m. Short for the
   * property REMOVAL "when no updates for 15m".
   */
  readonly ttl?: string | undefined
}

/** The body of POST /topics/remove for one topic. */
export interface RemoveByPath extends WriteBody {
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** Whether to only report whether the topic would be removed. */
  readonly dry_run?: boolean | undefined
}

/** The body of POST /topics/remove for many topics. */
export interface RemoveBySelector {
  /** Selects the topics, which are removed whatever their type. */
  readonly selector: string
  /** Whether to only count the topics that would be removed. */
  readonly dry_run?: boolean | undefined
}

/** The body of POST /topics/remove: one of the two, which parse.ts distinguishes. */
export type RemoveBody = Partial<RemoveByPath & RemoveBySelector>

/** One operation of a batch that sets a value. */
interface SetOperation extends Omit<SetBody, 'with_version'> {
  /** The name of its route. */
  readonly op: 'set'
}

/** One operation of a batch that adds to a number. */
export interface IncrementOperation extends Omit<IncrementBody, 'with_version'> {
  /** Either name: the route of set takes an increment. */
  readonly op: 'increment' | 'set'
}

/** One operation of a batch that creates a topic if it does not exist, and sets its value. */
interface AddAndSetOperation extends Omit<AddAndSetBody, 'with_version'> {
  /** The name of its route. */
  readonly op: 'addAndSet'
}

/** One operation of a batch that creates a topic without a value. */
interface AddOperation extends Omit<AddBody, 'with_version'> {
  /** The name of its route. */
  readonly op: 'add'
}

/** One operation of a batch that removes a topic. */
interface RemoveOperation extends Omit<RemoveByPath, 'with_version' | 'dry_run'> {
  /** The name of its route. */
  readonly op: 'remove'
}

/** The body of POST /topics/batch. */
export interface BatchBody extends Pick<WriteBody, 'with_version'> {
  /** Carried out in this order; each sees the effects of those before it. */
  readonly operations: readonly (
    | SetOperation
    | IncrementOperation
    | AddAndSetOperation
    | AddOperation
    | RemoveOperation
  )[]
  /** Whether none is carried out if one is refused; true by default. */
  readonly atomic?: boolean | undefined
}
