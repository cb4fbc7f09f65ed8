/** POST /topics/batch: operations on topics by their paths, all of them in one commit, or none. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { isRefused } from '../store/batch.js'
import type { WriteOperation } from '../store/store.js'
import { type ApiContext, ok, refuse, roomProblem } from './context.js'
import { outcomeText, permissionProblem, refusalProblem } from './operations.js'
import { parseBatch } from './parse-batch.js'
import { isProblem, type Problem } from './problems.js'

export function handleBatch(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const operations = parseBatch(bytes, context.batchOperationsMax)
  if (isProblem(operations)) return refuse(operations)
  const refused = firstProblem(access, operations) ?? (grows(operations) ? roomProblem(context, bytes) : undefined)
  if (refused) return refuse(refused)
  return context.store.write(operations).then((result) => {
    if (isRefused(result)) {
      const { index, refusal } = result
      return refuse({ ...refusalProblem(operations[index] as WriteOperation, refusal), operation: index })
    }
    const answers = result.map((outcome, index) => outcomeText((operations[index] as WriteOperation).path, outcome))
    return ok(`{"results":[${answers.join(',')}]}`)
  })
}

/** The first operation that this key may not carry out. */
function firstProblem(access: Access, operations: readonly WriteOperation[]): Problem | undefined {
  for (const [index, operation] of operations.entries()) {
    const refused = permissionProblem(access, operation)
    if (refused !== undefined) return { ...refused, operation: index }
  }
  return undefined
}

/** Whether a batch can add bytes. */
function grows(operations: readonly WriteOperation[]): boolean {
  return operations.some(({ kind }) => kind !== 'remove')
}
