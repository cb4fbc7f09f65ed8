/**
 * POST /topics/batch: operations on topics by their paths, in one commit: all of them or none, or each for itself.
 */
import type { Access } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { Planner } from '../selectors/planner.js'
import { isRefusal, isRefused } from '../store/shared/batch.js'
import type { WriteOperation, WriteOutcome, WriteRefusal } from '../store/topics.js'
import type { Path } from '../topics/path.js'
import { parseBatch } from './bodies/parse-batch.js'
import { type ApiContext, ok, refuse } from './context.js'
import { type Answered, outcomeText, permissionProblem, refusalProblem } from './operations.js'
import { isProblem, type Problem } from './problems.js'

export function handleBatch(context: ApiContext, bytes: Buffer, access: Access): Answer | Promise<Answer> {
  const batch = parseBatch(bytes, context.batchOperationsMax)
  if (isProblem(batch)) return refuse(batch)
  return batch.isAtomic ? writeAll(context, batch.operations, access) : writeEach(context, batch.operations, access)
}

function writeAll(
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
    return ok(resultsText(result.map((outcome, index) => outcomeText(paths[index] as Path, outcome as WriteOutcome))))
  })
}

function writeEach(
  { store }: ApiContext,
  parsed: readonly (WriteOperation | Problem)[],
  access: Access,
): Answer | Promise<Answer> {
  const planner = new Planner()
  const checked = parsed.map((operation) =>
    isProblem(operation) ? operation : (permissionProblem(access, operation, planner) ?? operation),
  )
  const operations = checked.filter((operation) => !isProblem(operation)) as readonly WriteOperation[]
  const sent = checked.map((operation) => (isProblem(operation) ? problemText(operation) : actionOf(operation)))
  if (operations.length === 0) return ok(resultsText(sent as readonly string[]))
  return store.write(operations, false).then((outcomes) => {
    if (isRefused(outcomes)) throw new Error('a batch was refused of which each operation stands for itself')
    let next = 0
    const texts = sent.map((each) => {
      if (typeof each === 'string') return each
      const outcome = outcomes[next++] as WriteOutcome | WriteRefusal
      if (!isRefusal(outcome)) return outcomeText(each.path, outcome)
      return problemText(refusalProblem({ action: each, refusal: outcome }))
    })
    return ok(resultsText(texts))
  })
}

/** What the answer needs of an operation, without its value. */
function actionOf({ path, type, constraint }: WriteOperation): Answered {
  return { path, type, constraint: constraint && { kind: constraint.kind } }
}

function problemText({ code, message }: Problem): string {
  return JSON.stringify({ code, message })
}

function resultsText(results: readonly string[]): string {
  return `{"results":[${results.join(',')}]}`
}
