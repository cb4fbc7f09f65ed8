/**
 * From the bytes of a body to checked parameters. Everything that is wrong with a request is a `Problem`, a value; nothing
 * here throws.
 */
import type { IValidation } from 'typia'
import { parsePath, type Path } from '../topics/path.js'
import type { Plan } from '../topics/plan.js'
import { planSelector } from '../topics/planner.js'
import { checkProperties } from '../topics/properties.js'
import type { Properties, TopicType } from '../topics/topic.js'
import { quote } from './json-bytes.js'
import { scanMembers } from './members.js'
import { type Problem, problem } from './problems.js'

/** A body that its validator accepted, with the text of its `value`. */
export interface Parsed<Body> {
  readonly body: Body
  readonly valueText: Uint8Array | undefined
}

/** Strict about UTF-8, and a byte order mark is no JSON. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether a checked thing is a problem instead. */
export function isProblem(checked: object | string | undefined): checked is Problem {
  return typeof checked === 'object' && 'code' in checked && 'status' in checked
}

/**
 * Decodes, parses and validates a body. `valueText` is a view into `bytes` wherever it can be.
 *
 * @param sizeMax the upper bound of `size` for messages, since it is a setting; the handler holds the body to it
 */
export function parseBody<Body>(
  bytes: Uint8Array,
  validate: (input: unknown) => IValidation<Body>,
  sizeMax = 0,
): Parsed<Body> | Problem {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return problem('invalid_utf8')
  }
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    return problem('invalid_json')
  }
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return problem('invalid_body', { found: describe(input) })
  }
  const { count, valueText } = scanMembers(bytes)
  if (count !== Object.keys(input).length) return problem('duplicate_parameter')
  const validation = validate(input)
  if (!validation.success) return problemOf(validation.errors[0], input, sizeMax)
  return { body: validation.data, valueText }
}

/** What each parameter may be, in the words of a message. */
const allowedByName: Readonly<Record<string, string>> = {
  path: 'a string',
  selector: 'a string',
  after: 'a string',
  type: '"json" or "string"',
  properties: 'an object whose members are strings',
  value: 'any JSON value',
}

/** An error of typia's in the table's words. Its path looks like `$input.size` or `$input.properties["a b"]`. */
function problemOf(error: IValidation.IError, input: object, sizeMax: number): Problem {
  const name = error.path.replace(/^\$input\.?/, '').replace(/^\["(.*)"\]$/s, '$1')
  if (error.expected === 'undefined') return problem('unknown_parameter', { name, allowed: 'those of this route' })
  const own = name.split(/[.[]/)[0]
  if (own === name && !(name in input)) return problem('missing_parameter', { name, allowed: `${allowedByName[name]} is required` })
  if (name === 'size') return sizeProblem(error.value, sizeMax)
  const allowed = own === name ? allowedByName[name] : 'a string'
  return problem('invalid_parameter', { name, found: describe(error.value), allowed })
}

/** A `size` that is no integer from 1 to `sizeMax`. */
export function sizeProblem(found: unknown, sizeMax: number): Problem {
  return problem('invalid_parameter', { name: 'size', found: describe(found), allowed: `an integer from 1 to ${sizeMax}` })
}

/** Says what a value is, without repeating more of it than helps. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40).toWellFormed()}…` : value)}`
    case 'number':
    case 'boolean':
      return `the ${typeof value} ${value}`
    default:
      return 'an object'
  }
}

/** A path given as the parameter `name`. */
export function pathParameter(name: 'path' | 'after', text: string): Path | Problem {
  const path = parsePath(text)
  return typeof path === 'string' ? path : problem('invalid_path', { name, problem: path.problem })
}

export function selectorParameter(text: string): Plan | Problem {
  const plan = planSelector(text)
  return 'problem' in plan ? problem('invalid_selector', { problem: plan.problem }) : plan
}

/** Checks the known properties; undefined when there is nothing wrong. */
export function propertiesProblem(properties: Properties): Problem | undefined {
  const found = checkProperties(properties)
  return found && problem('invalid_property', { name: found.name, problem: found.problem })
}

/** The value's text, checked against the topic's type; undefined when the type is string and the value is not. */
export function valueProblem(valueText: Uint8Array | undefined, value: unknown, type: TopicType): Problem | undefined {
  if (valueText === undefined) return problem('missing_parameter', { name: 'value', allowed: `${allowedByName.value} is required` })
  if (type === 'json' || valueText[0] === quote) return undefined
  return problem('invalid_parameter', { name: 'value', found: describe(value), allowed: 'a string (the type is string)' })
}
