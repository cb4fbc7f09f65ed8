/** POST /topics/remove: removes one topic, without its descendants, or all matches of a selector; or only counts them. */
import typia from 'typia'
import type { Access } from '../../auth/access.js'
import { type Awaitable, whenKnown } from '../../base/awaitable.js'
import type { Cancellation } from '../../base/cancellation.js'
import type { Answer } from '../../http/answer.js'
import { restrict } from '../../keys/rights.js'
import { Planner } from '../../selectors/planner.js'
import type { WriteAction } from '../../store/topics.js'
import { type Constrained, type Constraint, holds, ValueText } from '../../topics/constraint.js'
import { typeOfItem, valueOfItem } from '../../topics/item.js'
import type { Path } from '../../topics/path.js'
import type { RemoveAnswer } from '../answers.js'
import { parseRemove, type RemoveRequest } from '../bodies/parse.js'
import { bodySchemas } from '../bodies/shapes.js'
import { type ApiContext, ok, refuse } from '../context.js'
import { answerOperation, needed, outcomeText, permissionProblem, refusalProblem } from '../operations.js'
import type { ApiRoute } from './route.js'

export const removeRoute: ApiRoute<RemoveRequest> = {
  name: 'remove',
  operationId: 'removeTopics',
  summary: 'Removes one topic by path, without its descendants, or every topic that a selector matches.',
  isRead: false,
  needs: needed.remove,
  bodies: bodySchemas.remove,
  answers: typia.json.schemas<[RemoveAnswer], '3.1'>(),
  answered: 'The topics are removed.',
  statuses: [409, 507],
  examples: [
    {
      name: 'byPath',
      summary: 'One topic, without its descendants',
      request: { path: 'plant/7/humidity' },
      answer: { removed: 1 },
    },
    {
      name: 'dryRun',
      summary: 'The number of topics in a subtree, of both types; nothing is removed',
      request: { selector: '*plant//', dry_run: true },
      answer: { removed: 2 },
    },
    {
      name: 'bySelector',
      summary: 'A subtree, of both types',
      request: { selector: '*plant//' },
      answer: { removed: 2 },
    },
  ],
  parse: (bytes) => parseRemove(bytes),
  handle,
}

function handle(
  context: ApiContext,
  request: RemoveRequest,
  access: Access,
  cancellation: Cancellation,
): Awaitable<Answer> {
  const { store } = context
  if (request.operation === undefined) {
    const plan = restrict(access, request.plan)
    const counted = request.isDryRun
      ? store.countMatches(plan, 'any', cancellation)
      : store.removeMatches(plan, cancellation)
    return counted.then((removed) => ok(`{"removed":${removed}}`))
  }
  const { operation, isDryRun } = request
  if (!isDryRun) return answerOperation(context, operation, access)
  const refused = permissionProblem(access, operation, new Planner())
  return refused === undefined ? tryRemoval(context, operation) : refuse(refused)
}

/** One read, so that the response shows one point in time. */
async function tryRemoval({ store }: ApiContext, { path, constraint: requested }: WriteAction): Promise<Answer> {
  // A copy, because the text is a view into the body, which is no longer valid if the engine has to wait.
  const constraint: Constraint | undefined =
    requested?.kind === 'value' ? { kind: 'value', text: Buffer.from(requested.text) } : requested
  const versions = constraint?.kind === 'version'
  const form = { type: 'any', values: constraint !== undefined && !versions, properties: false, versions } as const
  return whenKnown(store.readTopic(path, form), (item) => {
    const topic = typeof item === 'string' ? undefined : versions ? versioned(item) : constrained(item, path)
    if (constraint === undefined || holds(constraint, topic)) {
      return ok(outcomeText(path, topic === undefined ? 'nothing_removed' : 'removed'))
    }
    return refuse(refusalProblem({ action: { path, constraint }, refusal: 'unsatisfied_constraint' }))
  })
}

function constrained(item: Uint8Array, path: Path): Constrained {
  const value = valueOfItem(item, path, typeOfItem(item, path))
  return {
    hasValue: () => value !== undefined,
    hasText: (text) => value !== undefined && new ValueText(value).is(text),
    hasVersion: () => false,
  }
}

/** @param item shows the version, for a constraint on the version */
function versioned(item: Uint8Array): Constrained {
  const { version } = JSON.parse(Buffer.from(item).toString()) as { readonly version: number }
  return { hasValue: () => false, hasText: () => false, hasVersion: (wanted) => wanted === version }
}
