/**
 * From the bytes of a body to checked parameters. Everything that is wrong with a request is a `Problem`, a value; nothing
 * here throws. What is not an object, or nests too deep, never gets to JSON.parse, which would build it first.
 */
import { strict as assert } from 'node:assert'
import { valueLevelsMax } from '../limits.js'
import type { BodyShape, ValidationError } from '../validators.js'
import { openBracket } from './json-bytes.js'
import { jsonProblem } from './json-problem.js'
import { firstByte, type Members, repeatedName, scanMembers, unquoted } from './members.js'
import { type Problem, problem } from './problems.js'

/** A body that its validator accepted, with the text of its `value`. */
export interface Parsed<Body> {
  readonly body: Body
  readonly valueText: Uint8Array | undefined
}

/** Strict about UTF-8, and a byte order mark is no JSON. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes, parses and validates a body. `valueText` is a view into `bytes` wherever it can be.
 *
 * @param sizeMax the upper bound of `size`, where a body has one
 */
export function parseBody<Body>(bytes: Uint8Array, shape: BodyShape<Body>, sizeMax = 0): Parsed<Body> | Problem {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return problem('invalid_utf8')
  }
  if (firstByte(bytes) === openBracket) return jsonProblemOf(bytes) ?? problem('invalid_body', { found: 'an array' })
  const members = scanMembers(bytes)
  if (members.tooDeep !== undefined) return jsonProblemOf(bytes) ?? levelsProblem(members.tooDeep)
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    const found = jsonProblemOf(bytes)
    assert(found !== undefined, 'what JSON.parse refuses is no JSON')
    return found
  }
  if (typeof input !== 'object' || input === null) {
    return problem('invalid_body', { found: describe(input) })
  }
  const repeated = repetitionProblem(bytes, members, input)
  if (repeated !== undefined) return repeated
  const validation = shape.validate(input)
  if (!validation.success)
    return problemOf(validation.errors[0], input, { names: shape.names, sizeMax, sizeText: members.size })
  if (members.size !== undefined && !isIntegerUpTo(sizeMax, members.size)) return sizeProblem(members.size, sizeMax)
  return { body: validation.data, valueText: members.value }
}

/** What is wrong with the JSON of a body, as far as its levels go that are allowed. */
function jsonProblemOf(bytes: Uint8Array): Problem | undefined {
  const found = jsonProblem(bytes, valueLevelsMax + 1)
  return found === undefined ? undefined : problem('invalid_json', { problem: found })
}

/** The problem of what is too deep, which ends where the levels do. */
function levelsProblem(name: Uint8Array): Problem {
  const found = `nested more than ${valueLevelsMax} levels deep`
  return problem('invalid_parameter', {
    name: unquoted(name),
    found,
    allowed: `a value of at most ${valueLevelsMax} levels`,
  })
}

/** A name that is given twice, in the body or in its properties: JSON.parse would take the last one without a word. */
function repetitionProblem(bytes: Uint8Array, members: Members, input: object): Problem | undefined {
  if (members.count !== Object.keys(input).length) {
    return problem('duplicate_parameter', { name: repeatedName(bytes) ?? '' })
  }
  const properties: unknown = members.properties && 'properties' in input && input.properties
  if (members.properties === undefined || typeof properties !== 'object' || properties === null) return undefined
  if (Array.isArray(properties) || scanMembers(members.properties).count === Object.keys(properties).length)
    return undefined
  const name = repeatedName(members.properties) ?? ''
  return problem('invalid_property', { name, problem: 'is given more than once; each may be given once' })
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

/** What a message needs to know beside a validator's error. */
interface Expected {
  readonly names: readonly string[]
  readonly sizeMax: number
  readonly sizeText: Uint8Array | undefined
}

/** An error of typia's in the table's words. */
function problemOf(error: ValidationError, input: object, { names, sizeMax, sizeText }: Expected): Problem {
  const name = parameterName(error.path)
  if (error.expected === 'undefined') {
    return problem('unknown_parameter', {
      name,
      allowed: [...names]
        .sort()
        .map((known) => `"${known}"`)
        .join(', '),
    })
  }
  const own = name.split(/[.[]/)[0]
  if (own === name && !(name in input))
    return problem('missing_parameter', { name, allowed: `${allowedByName[name]} is required` })
  if (name === 'size' && sizeText !== undefined) {
    return sizeProblem(typeof error.value === 'number' ? sizeText : error.value, sizeMax)
  }
  const allowed = own === name ? allowedByName[name] : 'a string'
  return problem('invalid_parameter', { name, found: describe(error.value), allowed })
}

/** The parameter that a path of typia's leads to, escaped as in JSON: `$input.size`, `$input["a b"]`, `$input.properties["a b"]`. */
function parameterName(path: string): string {
  const rest = path.slice('$input'.length)
  return rest.startsWith('[') ? rest.slice(2, -2) : rest.slice(1)
}

/** A `size` that is no integer from 1 to `sizeMax`; a number is told by its text, since it may round to something else. */
export function sizeProblem(found: unknown, sizeMax: number): Problem {
  const told =
    found instanceof Uint8Array ? `the number ${shortened(Buffer.from(found).toString('latin1'))}` : describe(found)
  return problem('invalid_parameter', { name: 'size', found: told, allowed: `an integer from 1 to ${sizeMax}` })
}

/** Whether a JSON number is an integer to the last digit of its text, as 10, 10.0 and 1e1 are, and at most `max`. */
function isIntegerUpTo(max: number, number: Uint8Array): boolean {
  const text = Buffer.from(number).toString('latin1')
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === undefined || Number(text) > max) return false
  const digits = whole + fraction
  let zeros = 0
  while (zeros < digits.length && digits.at(-1 - zeros) === '0') zeros++
  return zeros === digits.length || fraction.length - Number(exponent) <= zeros
}

/** Says what a value is, without repeating more of it than helps. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(shortened(value))}`
    case 'number':
    case 'boolean':
      return `the ${typeof value} ${value}`
    default:
      return 'an object'
  }
}

/** Longest text that is repeated to say what was found, in UTF-16 units. */
const repeatedMax = 40

function shortened(text: string): string {
  return text.length > repeatedMax ? `${text.slice(0, repeatedMax).toWellFormed()}…` : text
}
