/** POST /topics/set, /add and /addAndSet: one operation on one topic. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { parseWrite } from './bodies/parse.js'
import { type ApiContext, refuse } from './context.js'
import { answerOperation, kindProblem } from './operations.js'
import { isProblem } from './problems.js'

type Handler = (context: ApiContext, bytes: Buffer, access: Access) => Answer | Promise<Answer>

/** A new value for a topic that exists. */
export const handleSet = handlerOf('set')

/** Creates a topic without a value. A topic that exists already, of either type, is a success too. */
export const handleAdd = handlerOf('add')

/** Creates the topic if it does not exist, and sets its value, in one step. */
export const handleAddAndSet = handlerOf('addAndSet')

function handlerOf(route: 'set' | 'add' | 'addAndSet'): Handler {
  return (context, bytes, access) => {
    const operation = kindProblem(access, route) ?? parseWrite(route, bytes)
    return isProblem(operation) ? refuse(operation) : answerOperation(context, operation, access)
  }
}
