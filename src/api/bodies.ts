/**
 * The request bodies on the wire, and their validators, which typia compiles from these types. The API description is
 * made from the same types. What a type cannot say (settings, limits in bytes, one of path and selector) is checked in
 * parse.ts and the handlers.
 */
import typia, { type IValidation, type tags } from 'typia'
import type { Properties, TopicType } from '../topics/topic.js'

/** The body of POST /topics/fetch. */
export interface FetchBody {
  /** Path of a single topic. One of path and selector is required. */
  readonly path?: string
  /** Selector of many topics. One of path and selector is required. */
  readonly selector?: string
  /** Type of the topics to fetch; json when absent. */
  readonly type?: TopicType
  /** Results on a page; 10 when absent. */
  readonly size?: number & tags.Type<'uint32'> & tags.Minimum<1>
  /** A path: results begin after it in the topic tree. */
  readonly after?: string
}

/** The body of POST /topics/set. */
export interface SetBody {
  readonly path: string
  /** Any JSON value; a string when type is string. */
  readonly value: unknown
  /** json when absent. */
  readonly type?: TopicType
}

/** The body of POST /topics/addAndSet. */
export interface AddAndSetBody {
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
  readonly path: string
  /** json when absent. */
  readonly type?: TopicType
  /** Empty when absent. */
  readonly properties?: Properties
}

/** The body of POST /topics/remove. */
export interface RemoveBody {
  /** Path of the topic to remove. One of path and selector is required. */
  readonly path?: string
  /** Selector of the topics to remove. One of path and selector is required. */
  readonly selector?: string
}

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
