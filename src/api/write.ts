/** POST /topics/set, /add and /addAndSet: one operation on one topic. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import type { WriteAction, WriteOperation } from '../store/topics.js'
import { parseAdd, parseAddAndSet, parseSet } from './bodies/parse.js'
import { type ApiContext, refuse } from './context.js'
import { answerOperation, kindProblem } from './operations.js'
import { isProblem, type Problem } from './problems.js'

type Handler = (context: ApiContext, bytes: Buffer, access: Access) => Answer | Promise<Answer>

/** A new value for a topic that exists. */
export const handleSet = handlerOf('set', parseSet)

/** Creates a topic without a value. A topic that exists already, of either type, is a success too. */
export const handleAdd = handlerOf('add', parseAdd)

/** Creates the topic if it does not exist, and sets its value, in one step. */
export const handleAddAndSet = handlerOf('addAndSet', parseAddAndSet)

function handlerOf(kind: WriteAction['kind'], parse: (bytes: Buffer) => WriteOperation | Problem): Handler {
  return (context, bytes, access) => {
    const operation = kindProblem(access, kind) ?? parse(bytes)
    return isProblem(operation) ? refuse(operation) : answerOperation(context, operation, access)
  }
}
