/**
 * From the bytes of a body to a JSON object that its validator accepts, or to a `Problem`, in this order: UTF-8 →
 * members.ts → JSON.parse → repeated names → validator → size. An array, or a value that nests too deep, never reaches
 * JSON.parse, which would build it first. Paths, selectors and properties are checked in parse.ts.
 */
import { strict as assert } from 'node:assert'
import { branchNumberMax, keyRateMax, valueLevelsMax } from '../limits.js'
import type { BodyShape, ValidationError } from '../validators.js'
import { openBracket } from './json-bytes.js'
import { jsonProblem } from './json-problem.js'
import { firstByte, type Members, repeatedName, scanMembers, unquoted } from './members.js'
import { isProblem, type Problem, problem, shorten } from './problems.js'

/** An object that its validator accepted, with the texts of some members. */
export interface Parsed<Body> {
  readonly body: Body
  readonly valueText: Uint8Array | undefined
  readonly constraintText: Buffer | undefined
}

/** A JSON object whose members are still to be checked. */
export interface ParsedObject {
  /** Its text, from `members.start` on. */
  readonly bytes: Buffer
  readonly input: object
  readonly members: Members
}

/** Rejects invalid UTF-8, and keeps a byte order mark, which JSON.parse then refuses. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes, parses and validates a body. `valueText` is a view into `bytes`, or a copy if white space had to be dropped.
 *
 * @param sizeMax the upper bound of `size`, where a body has one
 */
export function parseBody<Body>(bytes: Buffer, shape: BodyShape<Body>, sizeMax = 0): Parsed<Body> | Problem {
  const parsed = parseObject(bytes)
  return isProblem(parsed) ? parsed : checkObject(parsed, shape, sizeMax)
}

/**
 * Decodes and parses a body.
 *
 * @param levelsMax how deep a member may nest
 * @param operationsMax as for `scanMembers`
 */
export function parseObject(bytes: Buffer, levelsMax = valueLevelsMax, operationsMax = 0): ParsedObject | Problem {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return problem('invalid_utf8')
  }
  if (firstByte(bytes) === openBracket)
    return jsonProblemOf(bytes, levelsMax + 1) ?? problem('invalid_body', { found: 'an array' })
  const members = scanMembers(bytes, levelsMax, 0, operationsMax)
  if (members.tooDeep !== undefined) return jsonProblemOf(bytes, levelsMax + 2) ?? levelsProblem(members.tooDeep)
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    // The body itself is a level, and so is a constraint around a value.
    const found = jsonProblemOf(bytes, levelsMax + 2)
    assert(found !== undefined, 'what JSON.parse refuses is not JSON')
    return found
  }
  return typeof input === 'object' && input !== null
    ? { bytes, input, members }
    : problem('invalid_body', { found: describe(input) })
}

/**
 * Checks the members of an object: each given once, known, and of the right type.
 *
 * @param sizeMax as for `parseBody`
 */
export function checkObject<Body>(
  { bytes, input, members }: ParsedObject,
  shape: BodyShape<Body>,
  sizeMax = 0,
): Parsed<Body> | Problem {
  if (members.tooDeep !== undefined) return levelsProblem(members.tooDeep)
  const repeated = repetitionProblem(bytes, members, input)
  if (repeated !== undefined) return repeated
  const validation = shape.validate(input)
  if (!validation.success) {
    const [error] = validation.errors
    assert(error !== undefined, 'a validator that refuses says why')
    return problemOf(error, input, { names: shape.names, sizeMax, members })
  }
  for (const name of integerNames) {
    if (isInexact(members, name, sizeMax)) return integerProblem(name, members[textOf[name]], sizeMax)
  }
  return { body: validation.data, valueText: members.value, constraintText: members.constraint }
}

/** What is wrong with the JSON of a body, down to this level. */
function jsonProblemOf(bytes: Uint8Array, levelsMax: number): Problem | undefined {
  const found = jsonProblem(bytes, levelsMax)
  return found === undefined ? undefined : problem('invalid_json', { problem: found })
}

/** The problem of a value that is nested too deep. */
export function levelsProblem(name: Uint8Array): Problem {
  const found = `nested more than ${valueLevelsMax} levels deep`
  return problem('invalid_parameter', {
    name: unquoted(name),
    found,
    allowed: `a value of at most ${valueLevelsMax} levels`,
  })
}

/** A name that is repeated, in the body or in its properties: JSON.parse would silently use the last value. */
function repetitionProblem(bytes: Buffer, members: Members, input: object): Problem | undefined {
  if (members.count !== Object.keys(input).length) {
    return problem('duplicate_parameter', { name: repeatedName(bytes, members.start) ?? '' })
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
  with_values: 'true or false',
  with_properties: 'true or false',
  properties: 'an object whose members are strings',
  value: 'any JSON value',
  'constraint.no_value': 'true',
  'constraint.no_topic': 'true',
  dry_run: 'true or false',
  operations: 'an array',
  op: '"set", "addAndSet", "add" or "remove"',
  'key.name': '1 to 64 letters, digits or any of . _ @ -',
  'key.madeMs': 'a time in ms since 1970',
  'key.expiresMs': 'a time in ms since 1970',
  'key.rate': `an integer from 1 to ${keyRateMax}`,
  'key.former': 'an object',
  'key.former.untilMs': 'a time in ms since 1970',
}

/** The members of a constraint. */
const constraintNames: readonly string[] = ['value', 'no_value', 'no_topic'].map((name) => `constraint.${name}`)

/** What a message needs besides a validator's error. */
interface Expected {
  readonly names: readonly string[]
  readonly sizeMax: number
  readonly members: Members
}

/** A validator's error as a problem. */
function problemOf(error: ValidationError, input: object, { names, sizeMax, members }: Expected): Problem {
  const name = parameterName(error.path)
  const [own] = name.split(/[.[]/)
  if (error.expected === 'undefined') {
    return problem('unknown_parameter', {
      name,
      allowed: [...(own === 'constraint' && own !== name ? constraintNames : names)]
        .sort()
        .map((known) => `"${known}"`)
        .join(', '),
    })
  }
  if (own === name && !(name in input))
    return problem('missing_parameter', { name, allowed: `${allowedByName[name]} is required` })
  if (isIntegerName(name) && members[textOf[name]] !== undefined) {
    return integerProblem(name, typeof error.value === 'number' ? members[textOf[name]] : error.value, sizeMax)
  }
  const allowed = own === name ? allowedOf(name, error) : (allowedByName[name] ?? 'a string')
  return problem('invalid_parameter', { name, found: describe(error.value), allowed })
}

/**
 * The parameter that a validator's path leads to, escaped as in JSON: `$input.size`, `$input["a b"]`,
 * `$input.properties["a b"]`.
 */
function parameterName(path: string): string {
  const rest = path.slice('$input'.length)
  return rest.startsWith('[') ? rest.slice(2, -2) : rest.slice(1)
}

/** What may be given for a parameter. Only a fetch has a type for topics of both types. */
function allowedOf(name: string, { expected }: ValidationError): string {
  if (name === 'type' && expected.includes('"any"')) return '"json", "string" or "any"'
  return allowedByName[name] ?? 'an object'
}

/** The parameters that are integers, each with the member of `Members` that has its text. */
const textOf = {
  size: 'size',
  deep_branch_depth: 'deepBranchDepth',
  deep_branch_limit: 'deepBranchLimit',
} as const satisfies Record<string, keyof Members>

type IntegerName = keyof typeof textOf

const integerNames = Object.keys(textOf) as readonly IntegerName[]

function isIntegerName(name: string): name is IntegerName {
  return Object.hasOwn(textOf, name)
}

function boundsOf(name: IntegerName, sizeMax: number): { readonly min: number; readonly max: number } {
  return { min: name === 'deep_branch_limit' ? 0 : 1, max: name === 'size' ? sizeMax : branchNumberMax }
}

/** Whether an integer's text says another number than it was parsed to, or one beyond the bounds. */
function isInexact(members: Members, name: IntegerName, sizeMax: number): boolean {
  const text = members[textOf[name]]
  return text !== undefined && !isIntegerUpTo(boundsOf(name, sizeMax).max, text)
}

/**
 * The problem of a parameter that is not an integer within its bounds. A number given as bytes is quoted as it was
 * sent, since it may round to another one.
 *
 * @param sizeMax the upper bound of `size`
 */
export function integerProblem(name: IntegerName, found: unknown, sizeMax: number): Problem {
  const quoted =
    found instanceof Uint8Array
      ? `the number ${shorten(Buffer.from(found).toString('latin1'), repeatedMax)}`
      : describe(found)
  const { min, max } = boundsOf(name, sizeMax)
  return problem('invalid_parameter', { name, found: quoted, allowed: `an integer from ${min} to ${max}` })
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

/** Describes a value for a message; a long text is shortened. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(shorten(value, repeatedMax))}`
    case 'number':
    case 'boolean':
      return `the ${typeof value} ${value}`
    default:
      return 'an object'
  }
}

/** The longest text that is repeated to say what was found, in UTF-16 units. */
const repeatedMax = 40
