/**
 * The request bodies on the wire, as types. The validators and the schemas of the API description are generated from
 * them (validators.ts), and so are the descriptions of members: comments and tags such as `@minimum` have an effect
 * here. What a type cannot express (settings, limits in bytes, one of path and selector) is checked in parse.ts.
 */
import type { Properties, TopicType } from '../topics/topic.js'

/** The body of POST /topics/fetch for one topic. */
export interface FetchByPath {
  /** Path of the topic. */
  readonly path: string
  /** Type of the topic; json when absent. */
  readonly type?: TopicType
}

/** The body of POST /topics/fetch for a page of topics. */
export interface FetchBySelector {
  /** What selects the topics: a path after >, patterns after ? or *, several selectors after #. */
  readonly selector: string
  /** Type of the topics; json when absent. Topics of the other type are left out. */
  readonly type?: TopicType
  /**
   * Results on a page; 10 when absent.
   *
   * @type uint32
   * @minimum 1
   */
  readonly size?: number
  /** Results begin after this path in the topic tree; it need not be a topic. */
  readonly after?: string
}

/** The body of POST /topics/fetch: one of the two, which parse.ts distinguishes. */
export interface FetchBody extends Partial<FetchByPath>, Partial<Omit<FetchBySelector, 'type'>> {}

/** The body of POST /topics/set. */
export interface SetBody {
  /** Path of the topic. */
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** json when absent. */
  readonly type?: TopicType
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
}

/** The body of POST /topics/add. */
export interface AddBody {
  /** Path of the topic. */
  readonly path: string
  /** json when absent. */
  readonly type?: TopicType
  /** Empty when absent. */
  readonly properties?: Properties
}

/** The body of POST /topics/remove for one topic. */
export interface RemoveByPath {
  /** Path of the topic, which is removed without its descendants. */
  readonly path: string
}

/** The body of POST /topics/remove for many topics. */
export interface RemoveBySelector {
  /** What selects the topics, which are removed whatever their type. */
  readonly selector: string
}

/** The body of POST /topics/remove: one of the two, which parse.ts distinguishes. */
export interface RemoveBody extends Partial<RemoveByPath>, Partial<RemoveBySelector> {}
