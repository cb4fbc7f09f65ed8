/**
 * What the five handlers share: the store and settings they work with, and how their answers are made.
 */
import { type Access, covers, mayTouch } from '../auth/access.js'
import type { Answer } from '../http/answer.js'
import { planSelector } from '../selectors/planner.js'
import type { Awaitable, Operation, TopicStore } from '../store/store.js'
import type { Path } from '../topics/path.js'
import { removalOf } from '../topics/properties.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { type Problem, problem } from './problems.js'

export interface ApiContext {
  readonly store: TopicStore
  readonly pageSizeMax: number
  readonly pageBytesMax: number
  /** Reserves disk space for a write with a body of so many bytes; false when the disk is nearly full and it must be refused. */
  readonly tryReserveDisk: (bodyBytes: number) => boolean
}

export function ok(body: string): Answer {
  return { status: 200, body }
}

export function refuse({ status, code, message }: Problem): Answer {
  const answer = { status, body: JSON.stringify({ code, message }), cause: code }
  if (status === 401) return { ...answer, headers: [['www-authenticate', 'Apikey']] }
  if (status === 503) return { ...answer, headers: [['retry-after', '1']] }
  return answer
}

/** Goes on at once with what is there at once. */
export function whenKnown<T, R>(value: Awaitable<T>, next: (known: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** What keeps this key from these operations; undefined when nothing does. */
export function operationProblem(access: Access, ...operations: readonly Operation[]): Problem | undefined {
  for (const operation of operations) {
    if (!access.allow.has(operation)) return problem('forbidden_operation', { operation })
  }
  return undefined
}

/** What keeps this key from the topic at `path`; undefined when nothing does. */
export function touchProblem(access: Access, path: Path): Problem | undefined {
  return mayTouch(access, path) ? undefined : problem('forbidden_path')
}

/**
 * What keeps this key from creating topics with these properties: a REMOVAL that removes what a selector matches needs the
 * right to remove, and must stay within the key's subtrees. A selector that does not parse is a problem of the property.
 */
export function removalProblem(access: Access, properties: Properties): Problem | undefined {
  const selector = removalOf(properties)?.selector
  if (selector === undefined) return undefined
  const plan = planSelector(selector)
  if ('problem' in plan) {
    return problem('invalid_property', { name: 'REMOVAL', problem: `removes by a selector that ${plan.problem}` })
  }
  return operationProblem(access, 'remove') ?? (covers(access, plan) ? undefined : problem('forbidden_path'))
}

/** The problem of a topic that is not there, or not of the wanted type. */
export function absentProblem(absent: 'no_such_topic' | 'incompatible_type', path: Path, wanted: TopicType): Problem {
  if (absent === 'no_such_topic') return problem('no_such_topic', { path })
  return problem('incompatible_type', { path, wanted, found: wanted === 'json' ? 'string' : 'json' })
}
