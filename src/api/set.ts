/** POST /topics/set: a new value for a topic that exists. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import {
  type ApiContext,
  absentProblem,
  constraintProblem,
  ok,
  operationProblem,
  pathProblem,
  refuse,
} from './context.js'
import { writeOne } from './operations.js'
import { parseSet } from './parse.js'
import { isProblem } from './problems.js'

export function handleSet(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const request = operationProblem(access, 'set') ?? parseSet(bytes)
  if (isProblem(request)) return refuse(request)
  const { path, type, valueText, constraint } = request
  const refused = pathProblem(access, path) ?? constraintProblem(access, constraint)
  if (refused) return refuse(refused)
  if (constraint !== undefined) return writeOne(context, { kind: 'set', ...request })
  return context.store
    .set(path, type, valueText)
    .then((outcome) =>
      outcome === 'set' ? ok(`{"path":${JSON.stringify(path)}}`) : refuse(absentProblem(outcome, path, type)),
    )
}
