/**
 * Operations on topics by path, alone or in a batch: the permissions that an operation needs, its execution, and the
 * response of its route.
 */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { quoted } from '../json/strings.js'
import type { Operation } from '../keys/record.js'
import { Planner } from '../selectors/planner.js'
import { isRefusal, isVersioned, onlyOutcome } from '../store/core/write/batch.js'
import type { WriteAction, WriteOperation, WriteOutcome, WriteRefusal } from '../store/topics.js'
import type { Constraint } from '../topics/constraint.js'
import { numberDigitsMax } from '../topics/decimal.js'
import {
  type ApiContext,
  absentProblem,
  creationProblem,
  ok,
  operationProblem,
  pathProblem,
  readingProblem,
  refuse,
} from './context.js'
import { type Problem, problem } from './problems.js'

/** The operations that a key must be allowed to use. */
export const needed: Readonly<Record<WriteAction['kind'], readonly Operation[]>> = {
  set: ['set'],
  addAndSet: ['set', 'add'],
  add: ['add'],
  remove: ['remove'],
  // The response shows the value.
  increment: ['set', 'fetch'],
}

/** One planner serves a whole request. */
export function permissionProblem(access: Access, action: WriteAction, planner: Planner): Problem | undefined {
  const { kind, path, properties } = action
  return (
    operationProblem(access, needed[kind]) ??
    (properties === undefined ? pathProblem(access, path) : creationProblem(access, action, planner)) ??
    readingProblem(access, action)
  )
}

/** JSON in the form of the operation's route, with a version if the outcome has one. */
export function outcomeText(path: string, outcome: WriteOutcome): string {
  if (isVersioned(outcome))
    return `${outcomeText(path, outcome.effect).slice(0, -1)},"version":${outcome.change.version}}`
  if (typeof outcome === 'object') return `{"path":${quoted(path)},"value":${outcome.valueText}}`
  switch (outcome) {
    case 'set':
      return `{"path":${quoted(path)}}`
    case 'created':
      return `{"path":${quoted(path)},"created":true}`
    case 'updated':
    case 'present':
      return `{"path":${quoted(path)},"created":false}`
    case 'removed':
      return '{"removed":1}'
    case 'nothing_removed':
      return '{"removed":0}'
    default:
      return outcome satisfies never
  }
}

export function refusalProblem({
  action,
  refusal,
}: {
  readonly action: Pick<WriteAction, 'path'> & Partial<Pick<WriteAction, 'type' | 'constraint'>>
  readonly refusal: WriteRefusal
}): Problem {
  const { path, type, constraint } = action
  switch (refusal) {
    case 'no_such_topic':
    case 'incompatible_type':
      return absentProblem(refusal, path, type ?? 'json')
    case 'incompatible_properties':
      return problem('incompatible_properties', { path })
    case 'unsatisfied_constraint':
      return problem('unsatisfied_constraint', { path, found: contraries[constraint?.kind ?? 'value'] })
    case 'not_a_number':
      return problem('not_a_number', { path, digits: String(numberDigitsMax) })
    default:
      return refusal satisfies never
  }
}

/** The actual state if a constraint does not hold. */
const contraries: Readonly<Record<Constraint['kind'], string>> = {
  value: 'no topic with that value',
  version: 'no topic with that version',
  no_value: 'a topic with a value, or no topic',
  no_topic: 'a topic',
}

export function answerOperation(
  { store }: ApiContext,
  operation: WriteOperation,
  access: Access,
): Answer | Promise<Answer> {
  const refused = permissionProblem(access, operation, new Planner())
  if (refused !== undefined) return refuse(refused)
  const { path } = operation
  return store.write([operation]).then((result) => {
    const outcome = onlyOutcome(result)
    return isRefusal(outcome)
      ? refuse(refusalProblem({ action: operation, refusal: outcome }))
      : ok(outcomeText(path, outcome))
  })
}
