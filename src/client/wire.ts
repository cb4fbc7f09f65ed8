/** Requests as callers of the client write them: the API's body types without the method's arguments. Types only. */
import type { AddAnswer, IncrementAnswer, RefusedAnswer, RemoveAnswer, SetAnswer } from '../api/answers.js'
import type {
  AddAndSetBody,
  AddBody,
  BatchBody,
  ConstraintBody,
  FetchByPath,
  FetchBySelector,
  IncrementBody,
  IncrementOperation,
  RemoveByPath,
  RemoveBySelector,
  SetBody,
} from '../api/bodies/bodies.js'
import type { JsonText } from './json-text.js'

export type FetchTopicMembers = Omit<FetchByPath, 'path'>
export type FetchPageMembers = Omit<FetchBySelector, 'selector' | 'count'>
export type SetMembers = Omit<SetBody, 'path' | 'value'>
export type IncrementMembers = Pick<IncrementBody, 'constraint'>
export type AddAndSetMembers = Omit<AddAndSetBody, 'path' | 'value'>
export type AddMembers = Omit<AddBody, 'path'>
export type RemoveMembers = Omit<RemoveByPath, 'path'>
export type RemoveMatchesMembers = Omit<RemoveBySelector, 'selector'>

/** Has exactly one member. If that does not hold, the write is refused with 409 `unsatisfied_constraint`. */
export type Constraint = ConstraintBody

/** One operation of a batch: the members of its route, and `op`, the route's name. */
export type Operation =
  | Exclude<BatchBody['operations'][number], IncrementOperation>
  | (Omit<IncrementOperation, 'increment'> & { readonly increment: Addend })

/** Numbers as JSON.stringify writes them, large integers, and texts that keep every digit. */
export type Addend = number | bigint | JsonText

type AnswerTo<Op extends Operation['op']> = Op extends 'set'
  ? SetAnswer
  : Op extends 'increment'
    ? Incremented
    : Op extends 'remove'
      ? RemoveAnswer
      : AddAnswer

/** The sum as JSON.parse reads it, and its text, which has every digit. */
export interface Incremented extends IncrementAnswer {
  readonly text: string
}

/** Each answer at the index of its operation. */
export type BatchAnswers<Operations extends readonly Operation[]> = {
  readonly [Index in keyof Operations]: AnswerTo<Operations[Index]['op']>
}

/** Each answer, or refusal, at the index of its operation. */
export type BatchOutcomes<Operations extends readonly Operation[]> = {
  readonly [Index in keyof Operations]: AnswerTo<Operations[Index]['op']> | RefusedAnswer
}
