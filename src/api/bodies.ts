/**
 * The request bodies on the wire, and their validators, which typia compiles from these types. The API description is
 * made from the same types. What a type cannot say (settings, limits in bytes, one of path and selector) is checked in
 * parse.ts and the handlers.
 */
import typia, { type IValidation, type tags } from 'typia'
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
  /** Results on a page; 10 when absent. */
  readonly size?: number & tags.Type<'uint32'> & tags.Minimum<1>
  /** Results begin after this path in the topic tree; it need not be a topic. */
  readonly after?: string
}

/** The body of POST /topics/fetch: one of the two, which the handler tells apart. */
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

/** The body of POST /topics/remove: one of the two, which the handler tells apart. */
export interface RemoveBody extends Partial<RemoveByPath>, Partial<RemoveBySelector> {}

/** What parse.ts needs to know of a body: whether an input is one, and the names of its members. */
export interface BodyShape<Body> {
  readonly validate: (input: unknown) => IValidation<Body>
  readonly names: readonly string[]
}

export const fetchShape: BodyShape<FetchBody> = {
  validate: typia.createValidateEquals<FetchBody>(),
  names: typia.misc.literals<keyof FetchBody>(),
}
export const setShape: BodyShape<SetBody> = {
  validate: typia.createValidateEquals<SetBody>(),
  names: typia.misc.literals<keyof SetBody>(),
}
export const addAndSetShape: BodyShape<AddAndSetBody> = {
  validate: typia.createValidateEquals<AddAndSetBody>(),
  names: typia.misc.literals<keyof AddAndSetBody>(),
}
export const addShape: BodyShape<AddBody> = {
  validate: typia.createValidateEquals<AddBody>(),
  names: typia.misc.literals<keyof AddBody>(),
}
export const removeShape: BodyShape<RemoveBody> = {
  validate: typia.createValidateEquals<RemoveBody>(),
  names: typia.misc.literals<keyof RemoveBody>(),
}
