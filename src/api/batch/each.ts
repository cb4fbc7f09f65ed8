/** Runs each operation on its own: rejected operations change nothing, and the others become durable together. */
import type { Access } from '../../auth/access.js'
import { Planner } from '../../selectors/planner.js'
import { isRefusal, isRefused } from '../../store/core/write/batch.js'
import type { TopicWriter, WriteOperation, WriteOutcome, WriteRefusal } from '../../store/topics.js'
import type { ApiContext } from '../context.js'
import { permissionProblem, refusalProblem } from '../operations.js'
import { isProblem, type Problem } from '../problems.js'

export interface EachContext extends Pick<ApiContext, 'countRefused'> {
  readonly store: TopicWriter
}

/** Copies the JSON in `parsed` before it returns. @throws StoreError if no operation was applied, or the outcome is unknown */
export async function writeEach(
  { store, countRefused }: EachContext,
  parsed: readonly (WriteOperation | Problem)[],
  access: Access,
): Promise<readonly (WriteOutcome | Problem)[]> {
  const planner = new Planner()
  const checked = parsed.map((operation) =>
    isProblem(operation) ? operation : (permissionProblem(access, operation, planner) ?? operation),
  )
  const operations = checked.filter((operation): operation is WriteOperation => !isProblem(operation))
  const outcomes = operations.length === 0 ? [] : await store.write(operations, false)
  if (isRefused(outcomes)) throw new Error('a batch with independent operations was rejected as a whole')
  let next = 0
  const results = checked.map((action) => {
    if (isProblem(action)) return action
    const outcome = outcomes[next++] as WriteOutcome | WriteRefusal
    return isRefusal(outcome) ? refusalProblem({ action, refusal: outcome }) : outcome
  })
  for (const result of results) if (isProblem(result)) countRefused(result.code)
  return results
}
