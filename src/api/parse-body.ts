/**
 * From the bytes of a body to a JSON object that its validator accepts, or to a `Problem`, in this order: UTF-8 →
 * members.ts → JSON.parse → repeated names → number of members → validator → size. JSON.parse, which would build them
 * first, sees no array in place of a body, no value that nests too deep, and no contents of arrays and objects of which
 * only the text counts: json-problem.ts checks those. Nor does it see the long properties of a batch. They are parsed when
 * their operation is checked: short texts are decoded faster than a long one, and a refused batch needs none after it.
 * Paths, selectors and properties are checked in parse.ts.
 */
import { strict as assert } from 'node:assert'
import { isUtf8 } from 'node:buffer'
import { branchNumberMax, keyRateMax, propertiesMax, valueLevelsMax } from '../limits.js'
import type { BodyShape, ValidationError } from '../validators.js'
import { openBracket } from './json-bytes.js'
import { jsonProblem } from './json-problem.js'
import { type Cuts, firstByte, type Members, nameAt, repeatedName, scanMembers, unquoted } from './members.js'
import { isProblem, type Problem, problem, shorten } from './problems.js'

/** An object that its validator accepted, and what else is needed of it. */
export interface Parsed<Body> {
  /** In it, arrays and objects within `value` and within the value of `constraint` are empty. */
  readonly body: Body
  readonly valueText: Uint8Array | undefined
  readonly constraint: ParsedMembers | undefined
}

/** The members of an object, and the text that they are in. */
export interface ParsedMembers {
  readonly bytes: Buffer
  readonly members: Members
}

/** A JSON object whose members are still to be checked. */
export interface ParsedObject extends ParsedMembers {
  readonly input: object
}

/**
 * Decodes, parses and validates a body. `valueText` is a view into `bytes`, or a copy if white space had to be dropped.
 *
 * @param sizeMax the upper bound of `size`, where a body has one
 */
export function parseBody<Body>(bytes: Buffer, shape: BodyShape<Body>, sizeMax = 0): Parsed<Body> | Problem {
  const parsed = parseObject(bytes, valueLevelsMax, 0, shape.isNested)
  return isProblem(parsed) ? parsed : checkObject(parsed, shape, sizeMax)
}

/**
 * Decodes and parses a body.
 *
 * @param levelsMax how deep a member may nest
 * @param operationsMax as for `scanMembers`
 * @param isNested whether the contents of members other than `properties` and `constraint` are needed
 */
export function parseObject(
  bytes: Buffer,
  levelsMax = valueLevelsMax,
  operationsMax = 0,
  isNested = false,
): ParsedObject | Problem {
  if (!isUtf8(bytes)) return problem('invalid_utf8')
  if (firstByte(bytes) === openBracket)
    return jsonProblemOf(bytes, levelsMax + 1) ?? problem('invalid_body', { found: 'an array' })
  const cuts: Cuts = []
  const members = scanMembers(bytes, cuts, levelsMax, 0, operationsMax)
  // The body itself is a level, and so is a constraint around a value.
  if (members.tooDeep !== undefined) return jsonProblemOf(bytes, levelsMax + 2) ?? levelsProblem(members.tooDeep)
  const needsAll = isNested && !members.isCrowded
  const input = cuts.length === 0 || needsAll ? parseWhole(bytes, levelsMax + 2) : parseCut(bytes, cuts)
  if (isProblem(input)) return input
  return typeof input.root === 'object' && input.root !== null
    ? { bytes, input: input.root, members }
    : problem('invalid_body', { found: describe(input.root) })
}

/** A parsed text, wrapped because it may be any value. */
interface Root {
  readonly root: unknown
}

function parseWhole(bytes: Buffer, levelsMax: number): Root | Problem {
  try {
    return { root: JSON.parse(bytes.toString()) }
  } catch {
    const found = jsonProblemOf(bytes, levelsMax)
    assert(found !== undefined, 'what JSON.parse refuses is not JSON')
    return found
  }
}

/** What a JSON text says without what is cut, which is checked all the same. */
function parseCut(bytes: Buffer, cuts: Cuts): Root | Problem {
  const found = jsonProblemOf(bytes, Infinity)
  return found ?? { root: JSON.parse(withoutCuts(bytes, cuts)) }
}

function withoutCuts(bytes: Buffer, cuts: Cuts, start = 0, end = bytes.length): string {
  if (cuts.length === 0) return bytes.toString('utf8', start, end)
  const kept = Buffer.allocUnsafe(end - start)
  let length = 0
  let from = start
  for (let i = 0; i < cuts.length; i += 2) {
    length += bytes.copy(kept, length, from, cuts[i])
    from = cuts[i + 1] as number
  }
  length += bytes.copy(kept, length, from, end)
  return kept.toString('utf8', 0, length)
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
  if (members.count !== Object.keys(input).length) {
    return problem('duplicate_parameter', { name: repeatedName(bytes, members.start) ?? '' })
  }
  const properties = parseCutProperties(bytes, members, input)
  if (isProblem(properties)) return properties
  if (members.isCrowded) return crowdProblem(input, shape.names)
  // Strings are as they should be, and the validator need not look at thousands of them.
  if (members.properties?.areStrings === false) Object.assign(input, properties)
  const validation = shape.validate(input)
  if (!validation.success) return problemOf(validation.error, input, { names: shape.names, sizeMax, members })
  for (const name of integerNames) {
    if (isInexact(members, name, sizeMax)) return integerProblem(name, members[textOf[name]], sizeMax)
  }
  if (properties !== undefined) Object.assign(input, properties)
  const { value: valueText, constraint } = members
  return { body: validation.data, valueText, constraint: constraint && { bytes, members: constraint } }
}

/** What is wrong with the JSON of a body, down to this level. */
function jsonProblemOf(bytes: Uint8Array, levelsMax: number): Problem | undefined {
  const found = jsonProblem(bytes, levelsMax)
  return found === undefined ? undefined : problem('invalid_json', { problem: found })
}

/** The problem of a value that is nested too deep. */
function levelsProblem(name: Uint8Array): Problem {
  const found = `nested more than ${valueLevelsMax} levels deep`
  return problem('invalid_parameter', {
    name: unquoted(name),
    found,
    allowed: `a value of at most ${valueLevelsMax} levels`,
  })
}

/**
 * Properties that were cut, undefined where none were; or the problem of one too many, or of a name that is repeated, of
 * which JSON.parse silently uses the last value.
 */
function parseCutProperties(
  bytes: Buffer,
  { properties: members }: Members,
  input: { readonly properties?: object },
): { readonly properties: object } | Problem | undefined {
  if (members === undefined) return undefined
  const { count, ownCuts, start, end } = members
  if (count > propertiesMax) {
    const name = nameAt(bytes, start, propertiesMax)?.toWellFormed() ?? ''
    return problem('invalid_property', { name, problem: `is one of ${count}; a topic may have ${propertiesMax}` })
  }
  const properties = ownCuts && (JSON.parse(withoutCuts(bytes, ownCuts, start, end)) as object)
  if (count === Object.keys(properties ?? input.properties ?? {}).length) return properties && { properties }
  const name = repeatedName(bytes, start) ?? ''
  return problem('invalid_property', { name, problem: 'is given more than once; each may be given once' })
}

/** The problem of an object with more members than there are names, each of which is given once: one is unknown. */
function crowdProblem(input: object, names: readonly string[]): Problem {
  const known = new Set(names.map((name) => name.split('.')[0]))
  const name = Object.keys(input).find((name) => !known.has(name))
  assert(name !== undefined, 'more names than are known')
  return unknownProblem(JSON.stringify(name).slice(1, -1), names)
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
  selector: 'a string',
  after: 'a string',
  type: '"json" or "string"',
  count: 'true or false',
  with_values: 'true or false',
  with_properties: 'true or false',
  with_version: 'true or false',
  properties: 'an object whose members are strings',
  value: 'any JSON value',
  'constraint.version': `an integer from 0 to ${Number.MAX_SAFE_INTEGER}`,
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
const constraintNames: readonly string[] = ['value', 'version', 'no_value', 'no_topic'].map(
  (name) => `constraint.${name}`,
)

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
    return unknownProblem(name, own === 'constraint' && own !== name ? constraintNames : names)
  }
  if (own === name && !(name in input))
    return problem('missing_parameter', { name, allowed: `${allowedByName[name]} is required` })
  if (isIntegerName(name) && members[textOf[name]] !== undefined) {
    return integerProblem(name, typeof error.value === 'number' ? members[textOf[name]] : error.value, sizeMax)
  }
  const version = name === 'constraint.version' ? members.constraint?.version : undefined
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
  const quoted = found instanceof Uint8Array ? quotedNumber(found) : describe(found)
  const { min, max } = boundsOf(name, sizeMax)
  return problem('invalid_parameter', { name, found: quoted, allowed: `an integer from ${min} to ${max}` })
}

/** The problem of a constraint's version, a number, that is not written as its digits or is too large. */
export function versionProblem(number: Uint8Array): Problem {
  const name = 'constraint.version'
  return problem('invalid_parameter', { name, found: quotedNumber(number), allowed: allowedByName[name] ?? '' })
}

/** A number as it was sent, for a message. */
function quotedNumber(text: Uint8Array): string {
  return `the number ${shorten(Buffer.from(text.subarray(0, repeatedMax + 1)).toString('latin1'), repeatedMax)}`
}

const zero = 0x30

/** Whether a JSON number is an integer to the last digit of its text, as 10, 10.0 and 1e1 are, and at most `max`. */
function isIntegerUpTo(max: number, number: Uint8Array): boolean {
  const text = Buffer.from(number).toString('latin1')
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === undefined || Number(text) > max) return false
  const digits = whole + fraction
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === zero) end--
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
