/**
 * From the bytes of a request to one complete, checked request, or to what is wrong with it. Each route has its parser:
 * bytes → validated body (parse-body.ts) → path, value, properties and selector, each checked once and in this order.
 * That of a fetch is in parse-fetch.ts.
 * Permissions and the contents of the store are checked elsewhere.
 *
 * Errors in this folder: a fault of the request is a `Problem`, a value, and nothing here throws for it. A fault of
 * ours or of the machine (a broken assertion, a failed commit) is an exception, which api/service.ts turns into an answer.
 */
import { quote } from '../../json/bytes.js'
import { JsonReader } from '../../json/reader.js'
import type { Plan } from '../../selectors/plan.js'
import { type Planner, planSelector } from '../../selectors/planner.js'
import type { WriteOperation } from '../../store/topics.js'
import { numberDigitsMax, sumOf } from '../../topics/decimal.js'
import { type Path, parsePath } from '../../topics/path.js'
import { type CheckedProperties, noRemoval, parseProperties } from '../../topics/properties.js'
import type { RemovalPolicy } from '../../topics/removal/policy.js'
import type { Properties, TopicType } from '../../topics/topic.js'
import { isProblem, type Problem, problem } from '../problems.js'
import { addAndSetShape, addShape, removeShape, setShape } from '../validators.js'
import type { AddAndSetBody, AddBody, IncrementBody, RemoveByPath, SetOrIncrementBody } from './bodies.js'
import { describe, type Parsed, parseBody } from './parse-body.js'
import { parseConstraint } from './parse-constraint.js'

/** One topic, or all that a plan matches; or only how many those are. */
type RemoveRequest = (
  | { readonly operation: WriteOperation }
  | { readonly operation?: undefined; readonly plan: Plan }
) & { readonly isDryRun: boolean }

export function parseSet(bytes: Buffer): WriteOperation | Problem {
  const parsed = parseBody(bytes, setShape)
  return isProblem(parsed) ? parsed : setOperation(parsed)
}

export function parseAdd(bytes: Buffer): WriteOperation | Problem {
  const parsed = parseBody(bytes, addShape)
  return isProblem(parsed) ? parsed : addOperation(parsed)
}

export function parseAddAndSet(bytes: Buffer): WriteOperation | Problem {
  const parsed = parseBody(bytes, addAndSetShape)
  return isProblem(parsed) ? parsed : addAndSetOperation(parsed)
}

export function parseRemove(bytes: Buffer): RemoveRequest | Problem {
  const parsed = parseBody(bytes, removeShape)
  if (isProblem(parsed)) return parsed
  const { path, selector, constraint, dry_run: isDryRun = false } = parsed.body
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    const operation = removeOperation({ ...parsed, body: { path, constraint } })
    return isProblem(operation) ? operation : { operation, isDryRun }
  }
  if (selector === undefined) return neitherProblem
  if (constraint !== undefined) return constraintOfManyProblem
  const plan = parseSelectorParameter(selector)
  return isProblem(plan) ? plan : { plan, isDryRun }
}

/**
 * The operation of a body, or of an element of a batch, that its validator has accepted; the next four functions do the
 * same. Its texts are views into the body where possible. Every operation has all members, in one order, so that V8 sees
 * few shapes.
 */
export function setOperation(parsed: Parsed<SetOrIncrementBody>): WriteOperation | Problem {
  const { type = 'json', path: pathText, increment } = parsed.body
  if (increment !== undefined) {
    if (parsed.valueText !== undefined) return valueAndIncrementProblem
    return incrementOperation({ ...parsed, body: { ...parsed.body, increment } })
  }
  const path = parsePathParameter('path', pathText)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, type)
  if (isProblem(valueText)) return valueText
  const constraint = parseConstraint(parsed.constraint)
  if (isProblem(constraint)) return constraint
  return { kind: 'set', path, type, properties: undefined, removal: undefined, valueText, constraint }
}

export function incrementOperation(parsed: Parsed<IncrementBody>): WriteOperation | Problem {
  const { type = 'json', path: pathText, increment } = parsed.body
  const path = parsePathParameter('path', pathText)
  if (isProblem(path)) return path
  const text = parsed.numberTexts?.get('increment') ?? String(increment)
  if (sumOf(text, '0') === undefined) return digitsProblem
  const constraint = parseConstraint(parsed.constraint)
  if (isProblem(constraint)) return constraint
  const valueText = Buffer.from(text)
  return { kind: 'increment', path, type, properties: undefined, removal: undefined, valueText, constraint }
}

export function addOperation({ body, constraint: given }: Parsed<AddBody>): WriteOperation | Problem {
  const { type = 'json', properties = noProperties } = body
  const path = parsePathParameter('path', body.path)
  if (isProblem(path)) return path
  const checked = parseRequestedProperties(properties)
  if (isProblem(checked)) return checked
  const constraint = parseConstraint(given)
  if (isProblem(constraint)) return constraint
  return { kind: 'add', path, type, properties, removal: checked.removal, valueText: undefined, constraint }
}

export function addAndSetOperation(parsed: Parsed<AddAndSetBody>): WriteOperation | Problem {
  const { type = 'json', properties = noProperties } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, type)
  if (isProblem(valueText)) return valueText
  const checked = parseRequestedProperties(properties)
  if (isProblem(checked)) return checked
  const constraint = parseConstraint(parsed.constraint)
  if (isProblem(constraint)) return constraint
  return { kind: 'addAndSet', path, type, properties, removal: checked.removal, valueText, constraint }
}

export function removeOperation({ body, constraint: given }: Parsed<RemoveByPath>): WriteOperation | Problem {
  const path = parsePathParameter('path', body.path)
  if (isProblem(path)) return path
  const constraint = parseConstraint(given)
  if (isProblem(constraint)) return constraint
  return { kind: 'remove', path, ...withoutTopic, constraint }
}

/** What a removal lacks. */
const withoutTopic = { type: undefined, properties: undefined, removal: undefined, valueText: undefined } as const

/** The properties of a request that names none. */
const noProperties: Properties = {}

const constraintOfManyProblem = problem('invalid_parameter', {
  name: 'constraint',
  found: 'given with a selector',
  allowed: 'a constraint on one "path" only',
})

const valueAndIncrementProblem = problem('invalid_parameter', {
  name: 'increment',
  found: 'given with a "value"',
  allowed: 'one of the two',
})

const digitsProblem = problem('invalid_parameter', {
  name: 'increment',
  found: 'a number of too many digits',
  allowed: `a number of at most ${numberDigitsMax} digits`,
})

const pathOrSelector = '"path" and "selector"'

export const neitherProblem = problem('path_or_selector', { allowed: pathOrSelector, found: 'none is' })
export const bothProblem = problem('path_or_selector', { allowed: pathOrSelector, found: 'both are' })

/** A path given as the parameter `name`. */
export function parsePathParameter(name: 'path' | 'after' | `paths[${number}]`, text: string): Path | Problem {
  const path = parsePath(text)
  return typeof path === 'string' ? path : problem('invalid_path', { name, problem: path.problem })
}

export function parseSelectorParameter(text: string): Plan | Problem {
  const plan = planSelector(text)
  return 'problem' in plan ? problem('invalid_selector', { problem: plan.problem }) : plan
}

/** Checks the known properties, and parses REMOVAL; its remove clause is checked by `planRemoveClause`. */
export function parseRequestedProperties(properties: Properties): CheckedProperties | Problem {
  if (properties === noProperties) return noRemoval
  const checked = parseProperties(properties)
  return 'problem' in checked ? problem('invalid_property', checked) : checked
}

/** The plan of the selector in a remove clause, within the budget of its request; undefined without one. */
export function planRemoveClause(removal: RemovalPolicy | undefined, planner: Planner): Plan | Problem | undefined {
  if (removal?.selector === undefined) return undefined
  const plan = planner.plan(removal.selector)
  if (!('problem' in plan)) return plan
  return problem('invalid_property', { name: 'REMOVAL', problem: `removes by a selector that ${plan.problem}` })
}

/** The value's text, checked against the topic's type. */
export function parseValue(valueText: Uint8Array | undefined, type: TopicType): Uint8Array | Problem {
  if (valueText === undefined) {
    return problem('missing_parameter', { name: 'value', allowed: 'any JSON value is required' })
  }
  if (type === 'json' || valueText[0] === quote) return valueText
  const value = new JsonReader(Buffer.from(valueText), Infinity).value()
  return problem('invalid_parameter', {
    name: 'value',
    found: describe(value),
    allowed: 'a string (the type is string)',
  })
}
