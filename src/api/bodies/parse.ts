/**
 * Parses the bytes of a request into one complete, checked request, or into a problem. Each route has a parser: bytes →
 * body of the route's shape (read-object.ts) → path, value, properties and selector, each checked once and in this order.
 * Fetches are parsed in parse-fetch.ts, changes in parse-changes.ts, batches in parse-batch.ts.
 * Permissions and the contents of the store are checked elsewhere.
 *
 * Errors in this folder: a fault in the request is returned as a `Problem` and never thrown. A fault in our code or in the
 * machine (a failed assertion or commit) is an exception, which api/service.ts turns into a response.
 */
import { quote } from '../../json/bytes.js'
import { JsonReader } from '../../json/reader.js'
import type { Plan } from '../../selectors/plan.js'
import { type Planner, planSelector } from '../../selectors/planner.js'
import { propertiesMax } from '../../settings/limits.js'
import type { WriteAction, WriteOperation } from '../../store/topics.js'
import type { Constraint } from '../../topics/constraint.js'
import { numberDigitsMax, sumOf } from '../../topics/decimal.js'
import { type Path, parsePath } from '../../topics/path.js'
import { parseProperties } from '../../topics/properties.js'
import { parseRemoval } from '../../topics/removal/parser.js'
import type { RemovalPolicy } from '../../topics/removal/policy.js'
import type { Properties, TopicType } from '../../topics/topic.js'
import { invalidParameter, isProblem, type Problem, problem, wrongParameter } from '../problems.js'
import type { AddAndSetBody, ConstraintBody, IncrementBody, SetBody } from './bodies.js'
import { describe, type Read, readBody } from './read-object.js'
import { shapes } from './shapes.js'

export type RemoveRequest = (
  | { readonly operation: WriteOperation }
  | { readonly operation?: undefined; readonly plan: Plan }
) & { readonly isDryRun: boolean }

export function parseWrite(route: 'set' | 'add' | 'addAndSet', bytes: Buffer): WriteOperation | Problem {
  const body = readBody<OperationBody & Pick<SetBody, 'with_version'>>(bytes, shapes[route])
  return isProblem(body) ? body : operationOf(route, body, body.with_version)
}

export function parseRemove(bytes: Buffer): RemoveRequest | Problem {
  const body = readBody(bytes, shapes.remove)
  if (isProblem(body)) return body
  const { path, selector, constraint, dry_run: isDryRun = false, with_version: wantsVersion } = body
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    if (isDryRun && wantsVersion === true) return wrongParameter('with_version', 'cannot be combined with "dry_run"')
    const operation = operationOf('remove', { path, constraint }, wantsVersion)
    return isProblem(operation) ? operation : { operation, isDryRun }
  }
  if (selector === undefined) return neitherProblem
  if (constraint !== undefined) return wrongParameter('constraint', requiresPath)
  if (wantsVersion !== undefined) return wrongParameter('with_version', requiresPath)
  const plan = parseSelectorParameter(selector)
  return isProblem(plan) ? plan : { plan, isDryRun }
}

/** The members of any operation, whether it is sent to a route or in a batch. */
export type OperationBody = Pick<AddAndSetBody, 'path'> &
  Partial<Omit<AddAndSetBody, 'path' | 'with_version'> & Pick<IncrementBody, 'increment'>>

/** The body must have been checked. JSON texts are views where possible. Members have a fixed order, so that V8 sees few shapes. */
export function operationOf(
  route: WriteAction['kind'],
  {
    path: pathText,
    type: wanted = 'json',
    value,
    increment,
    properties: given,
    ttl,
    constraint: condition,
  }: Read<OperationBody>,
  wantsVersion?: boolean,
): WriteOperation | Problem {
  if (increment !== undefined && value !== undefined)
    return wrongParameter('increment', 'cannot be combined with "value"')
  const kind = increment === undefined ? route : 'increment'
  const path = parsePathParameter('path', pathText)
  if (isProblem(path)) return path
  const type = kind === 'remove' ? undefined : wanted
  const valueText = textToWrite(kind, wanted, value, increment)
  if (isProblem(valueText)) return valueText
  const creates = kind === 'add' || kind === 'addAndSet'
  const properties = creates ? propertiesOf(given, ttl) : undefined
  if (isProblem(properties)) return properties
  const removal = properties && parseRequestedProperties(properties)
  if (isProblem(removal)) return removal
  const constraint = parseConstraint(condition)
  if (isProblem(constraint)) return constraint
  return { kind, path, type, properties, removal, valueText, constraint, wantsVersion } as WriteOperation
}

function propertiesOf(given: Properties = {}, ttl: string | undefined): Properties | Problem {
  if (ttl === undefined) return given
  if (Object.hasOwn(given, 'REMOVAL')) return wrongParameter('ttl', 'cannot be combined with the property "REMOVAL"')
  const count = Object.keys(given).length + 1
  if (count > propertiesMax)
    return problem('invalid_property', {
      name: 'REMOVAL',
      problem: `exceeds the limit of ${propertiesMax} properties; there are ${count}, including this one, which "ttl" adds`,
    })
  const removal = `when no updates for ${ttl}`
  const isPeriod = /^\d+[smhd]$/.test(ttl) && !('problem' in parseRemoval(removal))
  return isPeriod
    ? { ...given, REMOVAL: removal }
    : invalidParameter('ttl', describe(ttl), 'a period from 1s to 36500d, such as "30s", "15m", "12h" or "7d"')
}

/** Undefined if the operation writes no value: add and remove. */
function textToWrite(
  kind: WriteAction['kind'],
  type: TopicType,
  value: Uint8Array | undefined,
  increment: string | undefined,
): Uint8Array | Problem | undefined {
  if (kind === 'set' || kind === 'addAndSet') return parseValue(value, type)
  if (increment === undefined) return undefined
  if (sumOf(increment, '0') !== undefined) return Buffer.from(increment)
  return invalidParameter('increment', 'one with more', `a number with at most ${numberDigitsMax} digits`)
}

/** Checks that the constraint has exactly one member. Its value is a view into the body where possible. */
function parseConstraint(constraint: Read<ConstraintBody> | undefined): Constraint | Problem | undefined {
  if (constraint === undefined) return undefined
  const names = Object.keys(constraint)
  if (names.length !== 1) {
    const allowed = 'an object with exactly one of "value", "version", "no_value" and "no_topic"'
    return invalidParameter('constraint', `an object with ${names.length} members`, allowed)
  }
  const { value, version, no_topic: noTopic } = constraint
  if (value !== undefined) return { kind: 'value', text: value }
  if (version !== undefined) return { kind: 'version', version }
  return noTopic ? { kind: 'no_topic' } : { kind: 'no_value' }
}

const requiresPath = 'requires "path", and cannot be combined with "selector"'

const pathOrSelector = '"path" and "selector"'

export const neitherProblem = problem('path_or_selector', { allowed: pathOrSelector, found: 'none' })
export const bothProblem = problem('path_or_selector', { allowed: pathOrSelector, found: 'both' })

export function parsePathParameter(name: 'path' | 'after' | `paths[${number}]`, text: string): Path | Problem {
  const path = parsePath(text)
  return typeof path === 'string' ? path : problem('invalid_path', { name, problem: path.problem })
}

export function parseSelectorParameter(text: string): Plan | Problem {
  const plan = planSelector(text)
  return 'problem' in plan ? problem('invalid_selector', { problem: plan.problem }) : plan
}

/** Does not check the remove clause of REMOVAL; `planRemoveClause` does. */
export function parseRequestedProperties(properties: Properties): RemovalPolicy | Problem | undefined {
  const removal = parseProperties(properties)
  return removal !== undefined && 'problem' in removal ? problem('invalid_property', removal) : removal
}

/** Plans the remove clause within the request's budget; undefined if there is no clause. */
export function planRemoveClause(removal: RemovalPolicy | undefined, planner: Planner): Plan | Problem | undefined {
  if (removal?.selector === undefined) return undefined
  const plan = planner.plan(removal.selector)
  if (!('problem' in plan)) return plan
  return problem('invalid_property', { name: 'REMOVAL', problem: `has a remove clause whose selector ${plan.problem}` })
}

export function parseValue(valueText: Uint8Array | undefined, type: TopicType): Uint8Array | Problem {
  if (valueText === undefined) {
    return problem('missing_parameter', { name: 'value', allowed: 'it can be any JSON value' })
  }
  if (type === 'json' || valueText[0] === quote) return valueText
  const value = new JsonReader(Buffer.from(valueText), Infinity).value()
  return invalidParameter('value', describe(value), 'a string (the type is string)')
}
