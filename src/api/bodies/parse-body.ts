/**
 * From the bytes of a body to a JSON object that its validator accepts, or to a `Problem`, in this order: UTF-8 → JSON →
 * depth → repeated names → number of members → validator → exact integers. All but the first and the last two come from
 * one pass (body-object.ts). Paths, selectors and properties are checked in parse.ts.
 */
import { strict as assert } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import { openBrace, openBracket } from '../../json/bytes.js'
import { JsonReader } from '../../json/reader.js'
import { keyNameForm } from '../../keys/record.js'
import {
  branchNumberMax,
  changesWaitSecondsMax,
  keyRateMax,
  propertiesMax,
  valueLevelsMax,
} from '../../settings/limits.js'
import { isProblem, type Problem, problem, shorten } from '../problems.js'
import type { BodyShape, ValidationError } from '../validators.js'
import { BodyObject, type ReadOptions, readObject } from './body-object.js'

/** An object that its validator accepted, and what else is needed of it. */
export interface Parsed<Body> {
  /** In it, `value` is null, and so is the value of `constraint`. */
  readonly body: Body
  readonly valueText: Uint8Array | undefined
  readonly constraint: BodyObject | undefined
  /** As in `BodyObject`. */
  readonly numberTexts: ReadonlyMap<string, string> | undefined
}

/**
 * Reads and validates a body. `valueText` is a view into `bytes`, or a copy if white space had to be dropped.
 *
 * @param sizeMax the upper bound of `size`, where a body has one
 */
export function parseBody<Body>(bytes: Buffer, shape: BodyShape<Body>, sizeMax = 0): Parsed<Body> | Problem {
  const object = parseObject(bytes, shape)
  return isProblem(object) ? object : checkObject(object, shape, sizeMax)
}

/** Reads a body. Its members are still to be checked. */
export function parseObject(bytes: Buffer, options: ReadOptions): BodyObject | Problem {
  if (!isUtf8(bytes)) return problem('invalid_utf8')
  const { levelsMax = valueLevelsMax } = options
  // The body itself is a level, and so is a constraint around a value.
  const reader = new JsonReader(bytes, levelsMax + 2)
  const { first } = reader
  const found = first === openBrace ? readObject(reader, options) : reader.value()
  const wrong = reader.problem()
  if (wrong !== undefined) return problem('invalid_json', { problem: wrong })
  if (found instanceof BodyObject) return found.tooDeep === undefined ? found : levelsProblem(found.tooDeep)
  return problem('invalid_body', { found: first === openBracket ? 'an array' : describe(found) })
}

/**
 * Checks the members of an object: each given once, known, and of the right type.
 *
 * @param sizeMax as for `parseBody`
 */
export function checkObject<Body>(object: BodyObject, shape: BodyShape<Body>, sizeMax = 0): Parsed<Body> | Problem {
  const { input, tooDeep, repeated, valueText, constraint, numberTexts } = object
  if (tooDeep !== undefined) return levelsProblem(tooDeep)
  if (repeated !== undefined) return problem('duplicate_parameter', { name: repeated })
  const wrong = propertiesProblem(object)
  if (wrong !== undefined) return wrong
  if (object.isCrowded) {
    const crowded = unknownMember(input, shape.names)
    assert(crowded !== undefined, 'more names than are known')
    return crowded
  }
  const validation = shape.validate(input)
  if (!validation.success) return problemOf(validation.error, object, shape.names, sizeMax)
  // A missing `value` could be anything to the validator, which then counts the members without looking at their names.
  const misspelt =
    valueText === undefined && shape.names.includes('value') ? unknownMember(input, shape.names) : undefined
  if (misspelt !== undefined) return misspelt
  const inexact = sizeMax > 0 ? inexactProblem(object, sizeMax) : undefined
  return inexact ?? { body: validation.data, valueText, constraint, numberTexts }
}

/** The problem of a value that is nested too deep. */
function levelsProblem(name: string): Problem {
  const found = `nested more than ${valueLevelsMax} levels deep`
  return problem('invalid_parameter', { name, found, allowed: `a value of at most ${valueLevelsMax} levels` })
}

/** The problem of one property too many, or of a name that is repeated. */
function propertiesProblem({ properties }: BodyObject): Problem | undefined {
  if (properties === undefined) return undefined
  const { count, repeated, beyond } = properties
  if (beyond !== undefined) {
    const name = beyond.toWellFormed()
    return problem('invalid_property', { name, problem: `is one of ${count}; a topic may have ${propertiesMax}` })
  }
  if (repeated === undefined) return undefined
  return problem('invalid_property', { name: repeated, problem: 'is given more than once; each may be given once' })
}

/** The problem of the first member that has none of the names; undefined where all are known. */
function unknownMember(input: object, names: readonly string[]): Problem | undefined {
  const known = new Set(names.map((name) => name.split('.')[0]))
  const name = Object.keys(input).find((name) => !known.has(name))
  return name === undefined ? undefined : unknownProblem(JSON.stringify(name).slice(1, -1), names)
}

function unknownProblem(name: string, known: readonly string[]): Problem {
  const allowed = [...known]
    .sort()
    .map((name) => `"${name}"`)
    .join(', ')
  return problem('unknown_parameter', { name, allowed })
}

/** What each parameter may be, in the words of a message. */
const allowedByName: Readonly<Record<string, string>> = {
  path: 'a string',
  paths: 'an array of strings',
  selector: 'a string',
  after: 'a string',
  since: 'a string',
  type: '"json" or "string"',
  count: 'true or false',
  with_values: 'true or false',
  with_properties: 'true or false',
  with_version: 'true or false',
  properties: 'an object whose members are strings',
  value: 'any JSON value',
  increment: 'a number',
  'constraint.version': `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`,
  'constraint.no_value': 'true',
  'constraint.no_topic': 'true',
  dry_run: 'true or false',
  operations: 'an array',
  atomic: 'true or false',
  op: '"set", "increment", "addAndSet", "add" or "remove"',
  'key.name': keyNameForm,
  'key.madeMs': 'a time in ms since 1970',
  'key.expiresMs': 'a time in ms since 1970',
  'key.rate': `an integer from 1 to ${keyRateMax}`,
  'key.former': 'an object',
  'key.former.untilMs': 'a time in ms since 1970',
}

/** The members of a constraint. */
const constraintNames: readonly string[] = ['value', 'version', 'no_value', 'no_topic'].map(
  (name) => `constraint.${name}`,
)

/** A validator's error as a problem. */
function problemOf(
  error: ValidationError,
  { input, numberTexts, constraint }: BodyObject,
  names: readonly string[],
  sizeMax: number,
): Problem {
  const name = parameterName(error.path)
  const [own] = name.split(/[.[]/)
  if (error.expected === 'undefined') {
    return unknownProblem(name, own === 'constraint' && own !== name ? constraintNames : names)
  }
  if (own === name && !(name in input)) {
    // Most likely it is misspelt.
    const missing = problem('missing_parameter', { name, allowed: `${allowedByName[name]} is required` })
    return unknownMember(input, names) ?? missing
  }
  if (isIntegerName(name)) {
    const text = numberTexts?.get(name)
    return integerProblem(name, text === undefined ? describe(error.value) : describeNumber(text), sizeMax)
  }
  const version = name === 'constraint.version' ? constraint?.numberTexts?.get('version') : undefined
  if (version !== undefined && typeof error.value === 'number') return versionProblem(version)
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

/** The parameters that are integers, each with its bounds. That of `size` is a setting. */
const integerBounds = {
  size: { min: 1, max: undefined },
  deep_branch_depth: { min: 1, max: branchNumberMax },
  deep_branch_limit: { min: 0, max: branchNumberMax },
  wait: { min: 0, max: changesWaitSecondsMax },
} as const

type IntegerName = keyof typeof integerBounds

const integerNames = Object.keys(integerBounds) as readonly IntegerName[]

function isIntegerName(name: string): name is IntegerName {
  return Object.hasOwn(integerBounds, name)
}

/** The problem of an integer whose text says another number than it was read as, or one beyond the bounds. */
function inexactProblem({ input, numberTexts }: BodyObject, sizeMax: number): Problem | undefined {
  for (const name of integerNames) {
    const integer = input[name]
    if (typeof integer !== 'number') continue
    const text = numberTexts?.get(name)
    const { max = sizeMax } = integerBounds[name]
    if (text === undefined ? integer <= max : isIntegerUpTo(max, text)) continue
    return integerProblem(name, text === undefined ? describe(integer) : describeNumber(text), sizeMax)
  }
  return undefined
}

/** The problem of a parameter that is not an integer within its bounds. */
export function integerProblem(name: IntegerName, found: string, sizeMax: number): Problem {
  const { min, max = sizeMax } = integerBounds[name]
  return problem('invalid_parameter', { name, found, allowed: `an integer from ${min} to ${max}` })
}

/** The problem of a constraint's version, a number, that is not written as its digits or is too large. */
export function versionProblem(text: string): Problem {
  const name = 'constraint.version'
  return problem('invalid_parameter', { name, found: describeNumber(text), allowed: allowedByName[name] ?? '' })
}

/** A number as it was sent, for a message: it may round to another one. */
function describeNumber(text: string): string {
  return `the number ${shorten(text, repeatedMax)}`
}

/** Whether a JSON number is an integer to the last digit of its text, as 10, 10.0 and 1e1 are, and at most `max`. */
function isIntegerUpTo(max: number, text: string): boolean {
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === undefined || Number(text) > max) return false
  const digits = whole + fraction
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return end === 0 || fraction.length - Number(exponent) <= digits.length - end
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
