/** POST /topics/batch: operations in one commit (all or none), or each on its own. Lines are handled in batch/upload.ts. */
import typia from 'typia'
import type { Access } from '../../auth/access.js'
import type { Answer } from '../../http/answer.js'
import { Planner } from '../../selectors/planner.js'
import { isRefused } from '../../store/core/write/batch.js'
import type { WriteOperation, WriteOutcome } from '../../store/topics.js'
import type { BatchAnswer } from '../answers.js'
import { writeEach } from '../batch/each.js'
import { Upload } from '../batch/upload.js'
import { type BatchRequest, parseBatch } from '../bodies/parse-batch.js'
import { bodySchemas } from '../bodies/shapes.js'
import { type ApiContext, ok, refuse } from '../context.js'
import { outcomeText, permissionProblem, refusalProblem } from '../operations.js'
import { isProblem, type Problem } from '../problems.js'
import type { ApiRoute } from './route.js'

export const batchRoute: ApiRoute<BatchRequest> = {
  name: 'batch',
  operationId: 'batch',
  summary: 'Runs many operations on topics by path in one commit: all of them or none, or each on its own.',
  isRead: false,
  // The permissions that a key needs depend on the operations, and are checked after parsing.
  needs: [],
  bodies: bodySchemas.batch,
  otherBodies: {
    'application/x-ndjson': {
      schema: { type: 'string' },
      example: '{"op":"addAndSet","path":"plant/7/temp","value":21.5}\n{"op":"remove","path":"plant/7/alarm"}\n',
    },
  },
  answers: typia.json.schemas<[BatchAnswer], '3.1'>(),
  answered:
    'All operations are applied or, if `atomic` is false, all that are not rejected. No other request sees only some of ' +
    'them. For an NDJSON body, 200 means that every line was stored; if any line is rejected, the response is 400 ' +
    '`upload_refused`. With `accept: application/x-ndjson`, a stream reports rejected lines instead.',
  otherAnswers: {
    'application/x-ndjson': { schema: { type: 'string' }, example: '{"done":true,"durable":2,"refused":0}\n' },
  },
  statuses: [408, 409, 507],
  examples: [
    {
      name: 'transfer',
      summary: 'Two accounts change together, or neither',
      request: {
        operations: [
          { op: 'addAndSet', path: 'accounts/1', value: 70, constraint: { no_topic: true } },
          { op: 'addAndSet', path: 'accounts/2', value: 30, constraint: { no_topic: true } },
          { op: 'remove', path: 'accounts/0' },
        ],
      },
      answer: {
        results: [{ path: 'accounts/1', created: true }, { path: 'accounts/2', created: true }, { removed: 0 }],
      },
    },
    {
      name: 'each',
      summary: 'Each operation on its own',
      request: {
        operations: [
          { op: 'set', path: 'accounts/1', value: 71 },
          { op: 'set', path: 'accounts/3', value: 0 },
        ],
        atomic: false,
      },
      answer: {
        results: [
          { path: 'accounts/1' },
          { code: 'no_such_topic', message: 'There is no topic at the path "accounts/3".' },
        ],
      },
    },
  ],
  parse: (bytes, { batchOperationsMax }) => parseBatch(bytes, batchOperationsMax),
  handle: (context, batch, access) =>
    batch.isAtomic ? answerAll(context, batch.operations, access) : answerEach(context, batch.operations, access),
  openUpload: (uploads, ongoing, inlet) => new Upload(uploads, inlet, ongoing),
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
  const at = (index: number): WriteOperation => operations[index] as WriteOperation
  return store.write(operations).then((result) => {
    if (!isRefused(result))
      return resultsAnswer(result.map((outcome, index) => outcomeText(at(index).path, outcome as WriteOutcome)))
    const { index, refusal } = result
    return refuse({ ...refusalProblem({ action: at(index), refusal }), operation: index })
  })
}

function answerEach(
  context: ApiContext,
  parsed: readonly (WriteOperation | Problem)[],
  access: Access,
): Promise<Answer> {
  return writeEach(context, parsed, access).then((outcomes) =>
    resultsAnswer(
      outcomes.map((outcome, index) => {
        if (!isProblem(outcome)) return outcomeText((parsed[index] as WriteOperation).path, outcome)
        const { code, message } = outcome
        return JSON.stringify({ code, message })
      }),
    ),
  )
}

function resultsAnswer(results: readonly string[]): Answer {
  return ok(`{"results":[${results.join(',')}]}`)
}
