/**
 * The client's options and results. Options are the API's body types without the members that are arguments of the method.
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
/** `after` is the path of a child; the list starts with the next child. */
export type ListOptions = Pick<PageOptions, 'after' | 'size' | 'signal'>
export type RemoveOptions = Omit<RemoveByPath, 'path'> & RequestOptions
export type RemoveMatchesOptions = Omit<RemoveBySelector, 'selector'> & RequestOptions
export type WriteOptions<Body, Shown extends boolean> = Omit<Body, 'path' | 'value' | 'with_version'> &
  VersionOptions<Shown>

/** `Shown` is true if the result is certain to have a version. */
export interface VersionOptions<Shown extends boolean> extends RequestOptions {
  /** Whether to return the version of the change, or the topic's current version if nothing changed; false by default. */
  readonly with_version?: Shown | undefined
}

export type Versioned<Answer, Shown extends boolean = true> = [Shown] extends [true]
  ? Answer & { readonly version: number }
  : Answer

/** Exactly one condition. If it is not met, the write is rejected with 409 `unsatisfied_constraint`. */
export type Constraint = ConstraintBody

/** One operation of a batch: `op`, plus the members of a single request for that operation. */
export type Operation =
  | Exclude<BatchBody['operations'][number], IncrementOperation>
  | (Omit<IncrementOperation, 'increment'> & { readonly increment: Addend })

/** A number, a large integer, or a JsonText to keep every digit of a decimal. */
export type Addend = number | bigint | JsonText

/** Removing a missing topic returns no version. */
type AnswerTo<Op extends Operation['op'], Shown extends boolean> = Op extends 'remove'
  ? RemoveAnswer
  : Versioned<Op extends 'set' ? SetAnswer : Op extends 'increment' ? Incremented : AddAnswer, Shown>

/** The new value as JSON.parse reads it, and its text. */
export interface Incremented extends IncrementAnswer {
  /** The new value's JSON text, with every digit. */
  readonly text: string
}

/** The results, each at the index of its operation. */
export type BatchAnswers<Operations extends readonly Operation[], Shown extends boolean, Refusal = never> = {
  readonly [Index in keyof Operations]: AnswerTo<Operations[Index]['op'], Shown> | Refusal
}
