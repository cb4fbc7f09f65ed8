/**
 * POST /topics/addAndSet: creates the topic if it is missing, and sets its value, in one step.
 */

import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { addAndSetShape } from './bodies.js'
import {
  type ApiContext,
  absentProblem,
  ok,
  operationProblem,
  refuse,
  removalProblem,
  touchProblem,
} from './context.js'
import { isProblem, parseBody, pathParameter, propertiesProblem, valueProblem } from './parse.js'
import { problem } from './problems.js'

export function handleAddAndSet(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const forbidden = operationProblem(access, 'set', 'add')
  if (forbidden) return refuse(forbidden)
  const parsed = parseBody(bytes, addAndSetShape)
  if (isProblem(parsed)) return refuse(parsed)
  const { valueText } = parsed
  const { type = 'json', properties = {}, value } = parsed.body
  const path = pathParameter('path', parsed.body.path)
  if (typeof path !== 'string') return refuse(path)
  const wrong =
    valueProblem(valueText, value, type) ??
    propertiesProblem(properties) ??
    touchProblem(access, path) ??
    removalProblem(access, properties)
  if (wrong || valueText === undefined) return refuse(wrong ?? problem('internal_error'))
  if (!context.tryReserveDisk(bytes.length)) return refuse(problem('disk_nearly_full'))
  return context.store.addAndSet({ path, type, properties }, valueText).then((outcome) => {
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
