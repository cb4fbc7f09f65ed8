/** POST /topics/remove: one topic by its path, without its descendants, or everything that a selector matches. */
import { type Access, restrict } from '../auth/access.js'
import type { Answer, Cancellation } from '../http/answer.js'
import { type ApiContext, ok, operationProblem, pathProblem, refuse } from './context.js'
import { parseRemove } from './parse.js'
import { isProblem } from './problems.js'

export function handleRemove(
  { store }: ApiContext,
  bytes: Buffer,
  access: Access,
  cancellation: Cancellation,
): Answer | Promise<Answer> {
  const request = operationProblem(access, 'remove') ?? parseRemove(bytes)
  if (isProblem(request)) return refuse(request)
  if (request.path === undefined) {
    const plan = restrict(access, request.plan)
    return store.removeMatches(plan, cancellation).then((removed) => ok(`{"removed":${removed}}`))
  }
  const refused = pathProblem(access, request.path)
  if (refused) return refuse(refused)
  return store.remove(request.path).then((removed) => ok(`{"removed":${removed ? 1 : 0}}`))
}
