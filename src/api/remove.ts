/**
 * POST /topics/remove: one topic by its path, without its descendants, or everything that a selector matches.
 */

import { type Access, restrict } from '../auth/access.js'
import type { Answer, Waiting } from '../http/answer.js'
import { removeShape } from '../validators.js'
import { type ApiContext, ok, operationProblem, refuse, touchProblem } from './context.js'
import { isProblem, parseBody, pathParameter, selectorParameter } from './parse.js'
import { problem } from './problems.js'

export function handleRemove(
  context: ApiContext,
  bytes: Uint8Array,
  access: Access,
  waiting: Waiting,
): Answer | Promise<Answer> {
  const forbidden = operationProblem(access, 'remove')
  if (forbidden) return refuse(forbidden)
  const parsed = parseBody(bytes, removeShape)
  if (isProblem(parsed)) return refuse(parsed)
  const { path, selector } = parsed.body
  if ((path === undefined) === (selector === undefined)) {
    return refuse(problem('path_or_selector', { found: path === undefined ? 'none is' : 'both are' }))
  }
  if (path !== undefined) {
    const checked = pathParameter('path', path)
    if (typeof checked !== 'string') return refuse(checked)
    const outside = touchProblem(access, checked)
    if (outside) return refuse(outside)
    return context.store.remove(checked).then((removed) => ok(`{"removed":${removed ? 1 : 0}}`))
  }
  const plan = selectorParameter(selector as string)
  if (isProblem(plan)) return refuse(plan)
  return context.store.removeMatches(restrict(access, plan), waiting).then((removed) => ok(`{"removed":${removed}}`))
}
