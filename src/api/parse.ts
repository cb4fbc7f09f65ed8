/**
 * From the bytes of a request to one complete, checked request, or to what is wrong with it. Each route has its parser:
 * bytes → validated body (parse-body.ts) → path, value, properties and selector, each checked once and in this order.
 * That of a fetch is in parse-fetch.ts.
 * Permissions and the contents of the store are checked elsewhere.
 *
 * Errors in this folder: a fault of the request is a `Problem`, a value, and nothing here throws for it. A fault of
 * ours or of the machine (a broken assertion, a failed commit) is an exception, which service.ts turns into an answer.
 */
import type { Plan } from '../selectors/plan.js'
import { planSelector } from '../selectors/planner.js'
import type { Creation } from '../store/store.js'
import { type Path, parsePath } from '../topics/path.js'
import { type CheckedProperties, parseProperties } from '../topics/properties.js'
import type { RemovalPolicy } from '../topics/removal-policy.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { addAndSetShape, addShape, removeShape, setShape } from '../validators.js'
import { quote } from './json-bytes.js'
import { describe, parseBody } from './parse-body.js'
import { isProblem, type Problem, problem } from './problems.js'

interface SetRequest {
  readonly path: Path
  readonly type: TopicType
  /** JSON, UTF-8; a view into the body where possible. */
  readonly valueText: Uint8Array
}

interface AddAndSetRequest {
  readonly creation: Creation
  /** As in `SetRequest`. */
  readonly valueText: Uint8Array
}

/** One topic, or all that a plan matches. */
type RemoveRequest = { readonly path: Path } | { readonly path?: undefined; readonly plan: Plan }

export function parseSet(bytes: Buffer): SetRequest | Problem {
  const parsed = parseBody(bytes, setShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', value } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, value, type)
  return isProblem(valueText) ? valueText : { path, type, valueText }
}

export function parseAdd(bytes: Buffer): Creation | Problem {
  const parsed = parseBody(bytes, addShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', properties = {} } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const checked = parseRequestedProperties(properties)
  return isProblem(checked) ? checked : { path, type, properties, removal: checked.removal }
}

export function parseAddAndSet(bytes: Buffer): AddAndSetRequest | Problem {
  const parsed = parseBody(bytes, addAndSetShape)
  if (isProblem(parsed)) return parsed
  const { type = 'json', properties = {}, value } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) return path
  const valueText = parseValue(parsed.valueText, value, type)
  if (isProblem(valueText)) return valueText
  const checked = parseRequestedProperties(properties)
  return isProblem(checked) ? checked : { creation: { path, type, properties, removal: checked.removal }, valueText }
}

export function parseRemove(bytes: Buffer): RemoveRequest | Problem {
  const parsed = parseBody(bytes, removeShape)
  if (isProblem(parsed)) return parsed
  const { path, selector } = parsed.body
  if (path !== undefined) {
    if (selector !== undefined) return bothProblem
    const checked = parsePathParameter('path', path)
    return isProblem(checked) ? checked : { path: checked }
  }
  if (selector === undefined) return neitherProblem
  const plan = parseSelectorParameter(selector)
  return isProblem(plan) ? plan : { plan }
}

export const neitherProblem = problem('path_or_selector', { found: 'none is' })
export const bothProblem = problem('path_or_selector', { found: 'both are' })

/** A path given as the parameter `name`. */
export function parsePathParameter(name: 'path' | 'after', text: string): Path | Problem {
  const path = parsePath(text)
  return typeof path === 'string' ? path : problem('invalid_path', { name, problem: path.problem })
}

export function parseSelectorParameter(text: string): Plan | Problem {
  const plan = planSelector(text)
  return 'problem' in plan ? problem('invalid_selector', { problem: plan.problem }) : plan
}

/** Checks the known properties, and parses REMOVAL; its remove clause is checked by `planRemoveClause`. */
export function parseRequestedProperties(properties: Properties): CheckedProperties | Problem {
  const checked = parseProperties(properties)
  return 'problem' in checked ? problem('invalid_property', checked) : checked
}

/** The plan of the selector in a remove clause; undefined without one. */
export function planRemoveClause(removal: RemovalPolicy | undefined): Plan | Problem | undefined {
  if (removal?.selector === undefined) return undefined
  const plan = planSelector(removal.selector)
  if (!('problem' in plan)) return plan
  return problem('invalid_property', { name: 'REMOVAL', problem: `removes by a selector that ${plan.problem}` })
}

/** The value's text, checked against the topic's type; `value` is what it parses to, for the message. */
export function parseValue(valueText: Uint8Array | undefined, value: unknown, type: TopicType): Uint8Array | Problem {
  if (valueText === undefined) {
    return problem('missing_parameter', { name: 'value', allowed: 'any JSON value is required' })
  }
  if (type === 'json' || valueText[0] === quote) return valueText
  return problem('invalid_parameter', {
    name: 'value',
    found: describe(value),
    allowed: 'a string (the type is string)',
  })
}
