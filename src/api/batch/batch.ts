/**
 * POST /topics/batch: operations on topics by their paths, in one commit: all of them or none, or each on its own. Those that
 * arrive line by line are in upload.ts.
 */
import type { Access } from '../../auth/access.js'
import type { Answer } from '../../http/answer.js'
import { Planner } from '../../selectors/planner.js'
import { isRefused } from '../../store/core/write/batch.js'
import type { WriteOperation, WriteOutcome } from '../../store/topics.js'
import type { Path } from '../../topics/path.js'
import { parseBatch } from '../bodies/parse-batch.js'
import { type ApiContext, ok, refuse } from '../context.js'
import { outcomeText, permissionProblem, refusalProblem } from '../operations.js'
import { isProblem, type Problem } from '../problems.js'
import { writeEach } from './each.js'

export function handleBatch(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const batch = parseBatch(bytes, context.batchOperationsMax)
  if (isProblem(batch)) return refuse(batch)
  return batch.isAtomic ? answerAll(context, batch.operations, access) : answerEach(context, batch.operations, access)
}

function answerAll(
  { store }: ApiContext,
  operations: readonly WriteOperation[],
  access: Access,
): Answer | Promise<Answer> {
  const planner = new Planner()
  for (const [index, operation] of operations.entries()) {
    const refused = permissionProblem(access, operation, planner)
    if (refused !== undefined) return refuse({ ...refused, operation: index })
  }
  // Only what the answer needs is kept: what is alive while thousands of operations wait, the collector copies.
  const paths = operations.map(({ path }) => path)
  return store.write(operations).then((result) => {
    if (isRefused(result)) return refuse({ ...refusalProblem(result), operation: result.index })
    return resultsAnswer(result.map((outcome, index) => outcomeText(paths[index] as Path, outcome as WriteOutcome)))
  })
}

function answerEach(
  context: ApiContext,
  parsed: readonly (WriteOperation | Problem)[],
  access: Access,
): Promise<Answer> {
  const paths = parsed.map((operation) => (isProblem(operation) ? '' : operation.path))
  return writeEach(context, parsed, access).then((outcomes) =>
    resultsAnswer(
      outcomes.map((outcome, index) => {
        if (!isProblem(outcome)) return outcomeText(paths[index] as Path, outcome)
        const { code, message } = outcome
        return JSON.stringify({ code, message })
      }),
    ),
  )
}

function resultsAnswer(results: readonly string[]): Answer {
  return ok(`{"results":[${results.join(',')}]}`)
}
