/** POST /topics/add: creates a topic without a value. A topic that exists already, of either type, is a success too. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { Planner } from '../selectors/planner.js'
import { type ApiContext, constraintProblem, creationProblem, ok, operationProblem, refuse } from './context.js'
import { writeOne } from './operations.js'
import { parseAdd } from './parse.js'
import { isProblem } from './problems.js'

export function handleAdd(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const request = operationProblem(access, 'add') ?? parseAdd(bytes)
  if (isProblem(request)) return refuse(request)
  const { creation, constraint } = request
  const refused = creationProblem(access, creation, new Planner()) ?? constraintProblem(access, constraint)
  if (refused) return refuse(refused)
  if (constraint !== undefined) {
    return writeOne(context, { kind: 'add', ...creation, constraint, valueText: undefined })
  }
  return context.store
    .add(creation)
    .then((outcome) => ok(`{"path":${JSON.stringify(creation.path)},"created":${outcome === 'created'}}`))
}
