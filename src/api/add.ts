/**
 * POST /topics/add: creates a topic without a value; one that is there already, of whatever type, is a success too.
 */

import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { addShape } from './bodies.js'
import { type ApiContext, ok, operationProblem, refuse, removalProblem, touchProblem } from './context.js'
import { isProblem, parseBody, pathParameter, propertiesProblem } from './parse.js'
import { problem } from './problems.js'

export function handleAdd(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const forbidden = operationProblem(access, 'add')
  if (forbidden) return refuse(forbidden)
  const parsed = parseBody(bytes, addShape)
  if (isProblem(parsed)) return refuse(parsed)
  const { type = 'json', properties = {} } = parsed.body
  const path = pathParameter('path', parsed.body.path)
  if (typeof path !== 'string') return refuse(path)
  const wrong = propertiesProblem(properties) ?? touchProblem(access, path) ?? removalProblem(access, properties)
  if (wrong) return refuse(wrong)
  if (!context.tryReserveDisk(bytes.length)) return refuse(problem('disk_nearly_full'))
  return context.store
    .add({ path, type, properties })
    .then((outcome) => ok(`{"path":${JSON.stringify(path)},"created":${outcome === 'created'}}`))
}
