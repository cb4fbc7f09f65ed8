/**
 * The requests on the wire, as the client's callers write them: the API's own body types, without what the method's
 * arguments say. Members that those types do not have yet are declared here. Types only.
 */
import type { AddAnswer, RemoveAnswer, SetAnswer } from '../api/answers.js'
import type {
  AddAndSetBody,
  AddBody,
  BatchBody,
  ConstraintBody,
  FetchByPath,
  FetchBySelector,
  RemoveByPath,
  RemoveBySelector,
  SetBody,
} from '../api/bodies.js'
import type { TopicType } from '../topics/topic.js'

interface ItemParts {
  /** json when absent; `any` for both types. */
  readonly type?: TopicType | 'any'
  /** Whether items carry their properties. */
  readonly with_properties?: boolean
  /** Whether items carry their values; true when absent. */
  readonly with_values?: boolean
}

interface DeepBranches {
  /** Of each branch whose root has this many segments, at most `deep_branch_limit` results are returned. */
  readonly deep_branch_depth?: number
  readonly deep_branch_limit?: number
}

export type FetchTopicMembers = Omit<FetchByPath, 'path' | 'type'> & ItemParts
export type FetchPageMembers = Omit<FetchBySelector, 'selector' | 'type'> & ItemParts & DeepBranches
export type SetMembers = Omit<SetBody, 'path' | 'value'>
export type AddAndSetMembers = Omit<AddAndSetBody, 'path' | 'value'>
export type AddMembers = Omit<AddBody, 'path'>
export type RemoveMembers = Omit<RemoveByPath, 'path'>
export type RemoveMatchesMembers = Omit<RemoveBySelector, 'selector'>

/** What must hold for a write to happen: one of the members. Otherwise it is refused, 409 `unsatisfied_constraint`. */
export type Constraint = ConstraintBody

/** One operation of a batch: the members of its route, and `op`, the route's name. */
export type Operation = BatchBody['operations'][number]

/** What the route of an operation answers. */
type AnswerTo<Op extends Operation['op']> = Op extends 'set'
  ? SetAnswer
  : Op extends 'remove'
    ? RemoveAnswer
    : AddAnswer

/** The answer to each operation of a batch, at its index. */
export type BatchAnswers<Operations extends readonly Operation[]> = {
  readonly [Index in keyof Operations]: AnswerTo<Operations[Index]['op']>
}
