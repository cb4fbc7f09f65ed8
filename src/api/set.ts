/**
 * POST /topics/set: a new value for a topic that exists.
 */

import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { setShape } from './bodies.js'
import { type ApiContext, absentProblem, ok, operationProblem, refuse, touchProblem } from './context.js'
import { isProblem, parseBody, pathParameter, valueProblem } from './parse.js'
import { problem } from './problems.js'

export function handleSet(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const forbidden = operationProblem(access, 'set')
  if (forbidden) return refuse(forbidden)
  const parsed = parseBody(bytes, setShape)
  if (isProblem(parsed)) return refuse(parsed)
  const { valueText } = parsed
  const { type = 'json', value } = parsed.body
  const path = pathParameter('path', parsed.body.path)
  if (typeof path !== 'string') return refuse(path)
  const wrong = valueProblem(valueText, value, type) ?? touchProblem(access, path)
  if (wrong || valueText === undefined) return refuse(wrong ?? problem('internal_error'))
  if (!context.tryReserveDisk(bytes.length)) return refuse(problem('disk_nearly_full'))
  return context.store
    .set(path, type, valueText)
    .then((outcome) =>
      outcome === 'set' ? ok(`{"path":${JSON.stringify(path)}}`) : refuse(absentProblem(outcome, path, type)),
    )
}
