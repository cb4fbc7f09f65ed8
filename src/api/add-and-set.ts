/** POST /topics/addAndSet: creates the topic if it does not exist, and sets its value, in one step. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { Planner } from '../selectors/planner.js'
import {
  type ApiContext,
  absentProblem,
  constraintProblem,
  creationProblem,
  ok,
  operationProblem,
  refuse,
} from './context.js'
import { writeOne } from './operations.js'
import { parseAddAndSet } from './parse.js'
import { isProblem, problem } from './problems.js'

export function handleAddAndSet(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const request = operationProblem(access, 'set', 'add') ?? parseAddAndSet(bytes)
  if (isProblem(request)) return refuse(request)
  const { creation, valueText, constraint } = request
  const refused = creationProblem(access, creation, new Planner()) ?? constraintProblem(access, constraint)
  if (refused) return refuse(refused)
  if (constraint !== undefined) return writeOne(context, { kind: 'addAndSet', ...creation, constraint, valueText })
  return context.store.addAndSet(creation, valueText).then((outcome) => {
    const { path, type } = creation
    switch (outcome) {
      case 'created':
      case 'updated':
        return ok(`{"path":${JSON.stringify(path)},"created":${outcome === 'created'}}`)
      case 'incompatible_type':
        return refuse(absentProblem(outcome, path, type))
      case 'incompatible_properties':
        return refuse(problem('incompatible_properties', { path }))
    }
  })
}
