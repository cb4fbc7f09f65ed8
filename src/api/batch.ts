/** POST /topics/batch: operations on topics by their paths, all of them in one commit, or none. */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { Planner } from '../selectors/planner.js'
import { isRefused } from '../store/shared/batch.js'
import type { WriteOperation } from '../store/topics.js'
import type { Path } from '../topics/path.js'
import { parseBatch } from './bodies/parse-batch.js'
import { type ApiContext, ok, refuse } from './context.js'
import { outcomeText, permissionProblem, refusalProblem } from './operations.js'
import { isProblem, type Problem } from './problems.js'

export function handleBatch(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const operations = parseBatch(bytes, context.batchOperationsMax)
  if (isProblem(operations)) return refuse(operations)
  const refused = firstProblem(access, operations)
  if (refused) return refuse(refused)
  // Only what the answer needs is kept: what is alive while thousands of operations wait, the collector copies.
  const paths = operations.map(({ path }) => path)
  return context.store.write(operations).then((result) => {
    if (isRefused(result)) return refuse({ ...refusalProblem(result), operation: result.index })
    const answers = result.map((outcome, index) => outcomeText(paths[index] as Path, outcome))
    return ok(`{"results":[${answers.join(',')}]}`)
  })
}

/** The first operation that this key may not carry out. */
function firstProblem(access: Access, operations: readonly WriteOperation[]): Problem | undefined {
  const planner = new Planner()
  for (const [index, operation] of operations.entries()) {
    const refused = permissionProblem(access, operation, planner)
    if (refused !== undefined) return { ...refused, operation: index }
  }
  return undefined
}
