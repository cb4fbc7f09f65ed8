/**
 * Requests as callers of the client write them: the API's body types without the method's arguments; and the answers to them.
 * Types only.
 */
import type { AddAnswer, IncrementAnswer, RemoveAnswer, SetAnswer } from '../api/answers.js'
import type {
  BatchBody,
  ConstraintBody,
  FetchByPath,
  FetchBySelector,
  IncrementOperation,
  RemoveByPath,
  RemoveBySelector,
} from '../api/bodies/bodies.js'
import type { RequestOptions } from './connection.js'
import type { JsonText } from './json-text.js'

export type GetOptions = Omit<FetchByPath, 'path'> & RequestOptions
export type PageOptions = Omit<FetchBySelector, 'selector' | 'count'> & RequestOptions
export type CountOptions = Pick<PageOptions, 'type' | 'signal'>
/** `after` is a child: what is below it comes first, then the children after it. */
export type ListOptions = Pick<PageOptions, 'after' | 'size' | 'signal'>
export type RemoveOptions = Omit<RemoveByPath, 'path'> & RequestOptions
export type RemoveMatchesOptions = Omit<RemoveBySelector, 'selector'> & RequestOptions
export type WriteOptions<Body, Shown extends boolean> = Omit<Body, 'path' | 'value' | 'with_version'> &
  VersionOptions<Shown>

/** `Shown` is true where the answer certainly has a version. */
export interface VersionOptions<Shown extends boolean> extends RequestOptions {
  /** Whether the answer has the version of the change, or the topic's last one if nothing changes; false by default. */
  readonly with_version?: Shown | undefined
}

export type Versioned<Answer, Shown extends boolean = true> = [Shown] extends [true]
  ? Answer & { readonly version: number }
  : Answer

/** Has exactly one member. If that does not hold, the write is refused with 409 `unsatisfied_constraint`. */
export type Constraint = ConstraintBody

/** One operation of a batch: the members of its route, and `op`, the route's name. */
export type Operation =
  | Exclude<BatchBody['operations'][number], IncrementOperation>
  | (Omit<IncrementOperation, 'increment'> & { readonly increment: Addend })

/** Numbers as JSON.stringify writes them, large integers, and texts that keep every digit. */
export type Addend = number | bigint | JsonText

/** The removal of a topic that is not there has no version. */
type AnswerTo<Op extends Operation['op'], Shown extends boolean> = Op extends 'remove'
  ? RemoveAnswer
  : Versioned<Op extends 'set' ? SetAnswer : Op extends 'increment' ? Incremented : AddAnswer, Shown>

/** The sum as JSON.parse reads it, and its text, which has every digit. */
export interface Incremented extends IncrementAnswer {
  readonly text: string
}

/** Each answer at the index of its operation. */
export type BatchAnswers<Operations extends readonly Operation[], Shown extends boolean, Refusal = never> = {
  readonly [Index in keyof Operations]: AnswerTo<Operations[Index]['op'], Shown> | Refusal
}
