/** POST /topics/add: creates a topic without a value. A topic that exists already, of either type, is a success too. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { type ApiContext, creationProblem, ok, operationProblem, refuse, roomProblem } from './context.js'
import { parseAdd } from './parse.js'
import { isProblem } from './problems.js'

export function handleAdd(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const creation = operationProblem(access, 'add') ?? parseAdd(bytes)
  if (isProblem(creation)) return refuse(creation)
  const refused = creationProblem(access, creation) ?? roomProblem(context, bytes)
  if (refused) return refuse(refused)
  return context.store
    .add(creation)
    .then((outcome) => ok(`{"path":${JSON.stringify(creation.path)},"created":${outcome === 'created'}}`))
}
