/**
 * Shared by the routes: the store and settings, permission checks, and the creation of responses. The steps of a request:
 * check whether the key may use the route → parse → check whether it may access the topics → store → response.
 */

import type { Access } from '../auth/access.js'
import type { LiveChanges } from '../changes/live-changes.js'
import type { Answer, AnswerRoom } from '../http/answer.js'
import type { Operation } from '../keys/record.js'
import { covers, mayTouch } from '../keys/rights.js'
import type { Planner } from '../selectors/planner.js'
import { answerBytesAlwaysMax, pagesInRoomLeft } from '../settings/limits.js'
import type { ChangeReader } from '../store/changes.js'
import type { Absent, Creation, TopicReader, TopicRemover, TopicWriter, WriteAction } from '../store/topics.js'
import type { Path } from '../topics/path.js'
import type { TopicType } from '../topics/topic.js'
import { planRemoveClause } from './bodies/parse.js'
import { isProblem, type Problem, type ProblemCode, problem } from './problems.js'

export interface ApiContext {
  readonly changes: LiveChanges
  /** Looks up the caller's key again; undefined if it is no longer known. */
  readonly findCaller: (authorization: string) => Access | undefined
  readonly store: TopicReader & TopicWriter & TopicRemover & Pick<ChangeReader, 'inSnapshot'>
  readonly pageSizeMax: number
  readonly pageBytesMax: number
  readonly answerRoom: Readonly<AnswerRoom>
  readonly batchOperationsMax: number
  /** Counts rejections that the response's status does not show: rejections of single operations, or of the rest of an upload. */
  readonly countRefused: (code: ProblemCode) => void
}

/** Every page may be this large: even with its wrapper, it is small enough to always be sent. */
const pageBytesMin = answerBytesAlwaysMax / 2

/** The maximum page size now, limited so that an unread page leaves room for others. */
export function pageBytes({ pageBytesMax, answerRoom }: ApiContext): number {
  return Math.min(pageBytesMax, Math.max(pageBytesMin, Math.floor(answerRoom.bytesFree / pagesInRoomLeft)))
}

export function ok(body: string): Answer {
  return { status: 200, body }
}

/** @param details further members of the body */
export function refuse({ status, code, message, operation }: Problem, details?: object): Answer {
  const answer = { status, body: JSON.stringify({ code, message, operation, ...details }), cause: code }
  if (status === 401) return { ...answer, headers: [['www-authenticate', 'Apikey']] }
  if (status === 503) return { ...answer, headers: [['retry-after', '1']] }
  return answer
}

export function operationProblem(access: Access, operations: readonly Operation[]): Problem | undefined {
  for (const operation of operations) {
    if (!access.allow.has(operation)) return problem('forbidden_operation', { operation })
  }
  return undefined
}

export function pathProblem(access: Access, path: Path): Problem | undefined {
  return mayTouch(access, path) ? undefined : problem('forbidden_path')
}

/** If the response reveals a version, or whether a value or version is right, the key must have permission to fetch. */
export function readingProblem(access: Access, { constraint, wantsVersion }: WriteAction): Problem | undefined {
  return wantsVersion === true || constraint?.kind === 'value' || constraint?.kind === 'version'
    ? operationProblem(access, ['fetch'])
    : undefined
}

/** If REMOVAL has a selector, the key needs permission to remove its matches. @param planner the request's planner */
export function creationProblem(access: Access, { path, removal }: Creation, planner: Planner): Problem | undefined {
  const outside = pathProblem(access, path)
  if (outside !== undefined) return outside
  const plan = planRemoveClause(removal, planner)
  if (plan === undefined || isProblem(plan)) return plan
  return operationProblem(access, ['remove']) ?? (covers(access, plan) ? undefined : problem('forbidden_path'))
}

export function absentProblem(absent: Absent, path: Path, wanted: TopicType | 'any'): Problem {
  if (absent === 'no_such_topic') return problem('no_such_topic', { path })
  return problem('incompatible_type', { path, wanted, found: wanted === 'json' ? 'string' : 'json' })
}
