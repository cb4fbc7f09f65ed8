/**
 * The request bodies on the wire, as types. From these types, shapes.ts generates the schemas for reading bodies and for the
 * API description, so comments and tags such as `@minimum` have an effect here. Rules that types cannot express (settings, limits
 * in bytes, one of path and selector) are checked in parse.ts.
 */
import type { Properties, TopicType } from '../../topics/topic.js'

/** The form of the topics in a response. */
interface FormBody {
  /** Type of the topics; json by default. With "any", topics of both types are returned. */
  readonly type?: TopicType | 'any' | undefined
  /** Whether results include the values; true by default. */
  readonly with_values?: boolean | undefined
  /** Whether results include the properties given at creation; false by default. */
  readonly with_properties?: boolean | undefined
  /** Whether results include the version of each topic and the time of its last update; false by default. */
  readonly with_version?: boolean | undefined
}

/** The body of POST /topics/fetch for one topic. */
export interface FetchByPath extends FormBody {
  /** Path of the topic. */
  readonly path: string
}

/** The body of POST /topics/fetch for many topics by their paths. */
export interface FetchByPaths extends FormBody {
  /** Paths of the topics. There is one result per path, in this order. */
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
  /** Whether to return only the number of matches; false by default. Can be combined only with "type". */
  readonly count?: boolean | undefined
  /** Results start after this path in tree order; there need not be a topic at the path. */
  readonly after?: string | undefined
  /**
   * Number of segments in the root path of a branch: every result with at least this many segments is in a branch. Requires
   * deep_branch_limit.
   *
   * @type uint32
   * @minimum 1
   */
  readonly deep_branch_depth?: number | undefined
  /**
   * Maximum number of results per branch, across all pages; 0 returns only results that are in no branch. Requires
   * deep_branch_depth.
   *
   * @type uint32
   */
  readonly deep_branch_limit?: number | undefined
}

/** The body of POST /topics/fetch: one of the three types; parse-fetch.ts distinguishes them. */
export type FetchBody = Partial<FetchByPath & FetchByPaths & FetchBySelector>

/** The body of POST /topics/changes, with either path or selector. */
export interface ChangesBody extends FormBody {
  /** Path of the topic. */
  readonly path?: string | undefined
  /** Selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector?: string | undefined
  /** Value of "next" in the last response, or "now" for changes from now on. If missing, the current state is returned first. */
  readonly since?: string | undefined
  /**
   * Maximum number of results on the page; 100 by default.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number | undefined
  /**
   * Maximum time to wait for a change, in seconds; 0 by default. Streams ignore it.
   *
   * @type uint32
   * @maximum 50
   */
  readonly wait?: number | undefined
}

/** A condition that the topic must meet before the operation: exactly one of the members. */
export interface ConstraintBody {
  /** The topic has this value; white space between tokens is ignored. Requires permission to fetch. */
  readonly value?: unknown
  /**
   * The topic's last change has this version, as returned by a fetch. Requires permission to fetch.
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

/** The members of any write. */
interface WriteBody {
  /** No constraint by default. */
  readonly constraint?: ConstraintBody | undefined
  /**
   * Whether the response includes the version of the change or, if nothing changes, of the topic's last change; false by
   * default. Requires permission to fetch.
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
  /** Any JSON value; must be a string if type is string. */
  readonly value: unknown
}

/** The body of POST /topics/set to add to a number. */
export interface IncrementBody extends TypedWriteBody {
  /** Path of the topic, whose value is a number. */
  readonly path: string
  /** Number to add to the value, with at most 1,000 digits. Also requires permission to fetch. */
  readonly increment: number
}

/** The body of POST /topics/set: one of the two types; parse.ts distinguishes them. */
export type SetOrIncrementBody = Partial<SetBody & IncrementBody>

/** The body of POST /topics/addAndSet. */
export interface AddAndSetBody extends TypedWriteBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; must be a string if type is string. */
  readonly value: unknown
  /** No properties by default. */
  readonly properties?: Properties | undefined
  /**
   * The topic is removed after this period without an update: a whole number followed by s, m, h or d, such as 15m. Short for
   * the property REMOVAL "when no updates for 15m".
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
   * The topic is removed after this period without an update: a whole number followed by s, m, h or d, such as 15m. Short for
   * the property REMOVAL "when no updates for 15m".
   */
  readonly ttl?: string | undefined
}

/** The body of POST /topics/remove for one topic. */
export interface RemoveByPath extends WriteBody {
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
  /** If true, only reports whether the topic would be removed; false by default. */
  readonly dry_run?: boolean | undefined
}

/** The body of POST /topics/remove for many topics. */
export interface RemoveBySelector {
  /** Selects the topics to remove, of either type. */
  readonly selector: string
  /** If true, only counts the topics that would be removed; false by default. */
  readonly dry_run?: boolean | undefined
}

/** The body of POST /topics/remove: one of the two types; parse.ts distinguishes them. */
export type RemoveBody = Partial<RemoveByPath & RemoveBySelector>

/** One operation of a batch that sets a value. */
interface SetOperation extends Omit<SetBody, 'with_version'> {
  /** The name of the operation's route. */
  readonly op: 'set'
}

/** One operation of a batch that adds to a number. */
export interface IncrementOperation extends Omit<IncrementBody, 'with_version'> {
  /** Both names are valid, because the route `set` also takes increments. */
  readonly op: 'increment' | 'set'
}

/** One operation of a batch that creates a topic if it does not exist, and sets its value. */
interface AddAndSetOperation extends Omit<AddAndSetBody, 'with_version'> {
  /** The name of the operation's route. */
  readonly op: 'addAndSet'
}

/** One operation of a batch that creates a topic without a value. */
interface AddOperation extends Omit<AddBody, 'with_version'> {
  /** The name of the operation's route. */
  readonly op: 'add'
}

/** One operation of a batch that removes a topic. */
interface RemoveOperation extends Omit<RemoveByPath, 'with_version' | 'dry_run'> {
  /** The name of the operation's route. */
  readonly op: 'remove'
}

/** The body of POST /topics/batch. */
export interface BatchBody extends Pick<WriteBody, 'with_version'> {
  /** Applied in this order; each operation sees the effects of the earlier ones. */
  readonly operations: readonly (
    | SetOperation
    | IncrementOperation
    | AddAndSetOperation
    | AddOperation
    | RemoveOperation
  )[]
  /** Whether one rejected operation rejects the whole batch; true by default. If false, each operation is applied on its own. */
  readonly atomic?: boolean | undefined
}
