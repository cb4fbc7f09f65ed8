/**
 * Reads the objects of requests: a body, an operation of a batch, a constraint. One pass over the bytes decodes the members of
 * the shape (shape.ts) and notes errors; values are kept as JSON text. The error reported is the first in this order:
 * UTF-8 → JSON → depth → repeated names → number of properties → each member, in the shape's order → unknown names.
 * Paths, selectors and the contents of properties are checked in parse.ts.
 */
import { isUtf8 } from 'node:buffer'
import { openBrace, openBracket, quote } from '../../json/bytes.js'
import { JsonReader, setMember } from '../../json/reader.js'
import { quoted } from '../../json/strings.js'
import { propertiesMax, valueLevelsMax } from '../../settings/limits.js'
import { invalidParameter, isProblem, type Problem, problem, shorten, wrongParameter } from '../problems.js'
import type { Member, Shape } from './shape.js'

/** More members than any valid object has: among this many, one is unknown or repeated. */
const membersMax = 32

interface ReadLimits {
  /** Maximum levels of a member; a member that is an object may have one more, because it may contain a value. */
  readonly levelsMax?: number
  /** Maximum elements of an array; any further elements are undefined. */
  readonly elementsMax?: number
  /** The maximum of `size`, which is a setting. */
  readonly sizeMax?: number
}

/** A value is read as its text, a number as its digits. */
type ReadMember<Name, Type> = Name extends 'value'
  ? Uint8Array
  : Name extends 'increment'
    ? string
    : Name extends 'constraint'
      ? Read<Type>
      : Type

export type Read<Body> = { readonly [Name in keyof Body]: ReadMember<Name, Exclude<Body[Name], undefined>> }

/** Valid only if the reader found no error. */
export class ReadObject {
  /** null for an unknown name. */
  readonly members: Record<string, unknown> = {}
  hasUnknown = false
  /** The first name that repeats an earlier one; names are compared with their escapes decoded. */
  repeated: string | undefined = undefined
  /** The first member that is nested too deeply. */
  tooDeep: string | undefined = undefined
  /** True if there are more than `membersMax` members; any further ones are only checked for valid JSON. */
  isCrowded = false
  /** The problem if a property is repeated or there are too many properties. */
  propertiesProblem: Problem | undefined = undefined
  /** The problems with members, by the members' names. */
  wrong: Map<string, Problem> | undefined = undefined
}

/** Values are views into `bytes` where possible. */
export function readBody<Body>(bytes: Buffer, shape: Shape<Body>, limits: ReadLimits = {}): Read<Body> | Problem {
  const object = readBytes(bytes, shape, limits)
  if (isProblem(object)) return object
  return checkObject(object, shape) ?? membersOf<Body>(object)
}

/** The object must have been checked. */
export function membersOf<Body>({ members }: ReadObject): Read<Body> {
  return members as Read<Body>
}

/** Does not check the members. */
export function readBytes(bytes: Buffer, shape: Shape, limits: ReadLimits = {}): ReadObject | Problem {
  if (!isUtf8(bytes)) return problem('invalid_utf8')
  const { levelsMax = valueLevelsMax } = limits
  // The body itself is a level; an object around a value is another.
  const reader = new JsonReader(bytes, levelsMax + 2)
  const { first } = reader
  const found = first === openBrace ? readObject(reader, shape, limits) : reader.value()
  const wrong = reader.problem()
  if (wrong !== undefined) return problem('invalid_json', { problem: wrong })
  if (found instanceof ReadObject) return found.tooDeep === undefined ? found : levelsProblem(found.tooDeep)
  return problem('invalid_body', { found: first === openBracket ? 'an array' : describe(found) })
}

function readObject(reader: JsonReader, shape: Shape, limits: ReadLimits, prefix = ''): ReadObject {
  const object = new ReadObject()
  const { members } = object
  const { levelsMax = valueLevelsMax } = limits
  const level = reader.outer + 1
  let count = 0
  for (let name = reader.enterObject(); name !== undefined; name = reader.nextName(!object.isCrowded)) {
    if (count++ === membersMax) object.isCrowded = true
    if (object.isCrowded) {
      reader.skip()
      continue
    }
    const { deepest } = reader
    reader.deepest = level
    if (Object.hasOwn(members, name)) object.repeated ??= name
    const member = shape.members.get(name)
    if (member === undefined) {
      object.hasUnknown = true
      reader.skip()
      setMember(members, name, null)
    } else members[name] = readMember(reader, { name, prefix, member, object, limits })
    if (reader.deepest - level > (member?.kind === 'object' ? levelsMax + 1 : levelsMax)) object.tooDeep ??= name
    if (reader.deepest < deepest) reader.deepest = deepest
  }
  return object
}

interface Place {
  readonly name: string
  /** The names of the enclosing objects, each followed by a dot. */
  readonly prefix: string
  readonly member: Member
  readonly object: ReadObject
  readonly limits: ReadLimits
}

function readMember(reader: JsonReader, place: Place): unknown {
  const { member } = place
  const { first } = reader
  switch (member.kind) {
    case 'value':
      return reader.text()
    case 'string': {
      if (first !== quote) break
      const text = reader.value() as string
      if (member.pattern?.test(text) === false) note(place, describe(text))
      return text
    }
    case 'constant': {
      const value = reader.value()
      if (!member.constants.includes(value)) note(place, describe(value))
      return value
    }
    case 'integer':
    case 'number':
      return readNumber(reader, place)
    case 'properties':
      if (first === openBrace) return readProperties(reader, place)
      break
    case 'object':
      if (first === openBrace) return readInner(reader, place, member.shape)
      break
    case 'array':
      if (first === openBracket) return readArray(reader, place, member.elements)
      break
  }
  note(place, describe(reader.value()))
  return undefined
}

/** @returns the value for an integer member; for a number member its text, because the value may be rounded */
function readNumber(reader: JsonReader, place: Place): unknown {
  const value = reader.value()
  if (typeof value !== 'number') {
    note(place, describe(value))
    return undefined
  }
  const { member } = place
  const text = reader.numberText
  if (member.kind !== 'integer') return text
  const { min } = member
  const max = maxOf(place)
  if (value < min || value > max || !isInteger(text, max)) note(place, `the number ${shorten(text, repeatedMax)}`)
  return value
}

/** Only the maximum of `size` is a setting. */
function maxOf({ name, member, limits: { sizeMax } }: Place): number {
  return name === 'size' && sizeMax !== undefined ? sizeMax : member.kind === 'integer' ? member.max : Infinity
}

/** Considers every digit of the text: 10, 10.0 and 1e1 are integers. */
function isInteger(text: string, max: number): boolean {
  // Numbers above this maximum are rounded. Only plain digits show that this number was not rounded.
  if (max === Number.MAX_SAFE_INTEGER) return /^(?:0|[1-9]\d{0,15})$/.test(text)
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = whole + fraction
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return end === 0 || fraction.length - Number(exponent) <= digits.length - end
}

function readInner(reader: JsonReader, { name, prefix, object }: Place, shape: Shape): Record<string, unknown> {
  const outer = `${prefix}${name}.`
  const inner = readObject(reader, shape, { levelsMax: Infinity }, outer)
  const wrong = checkObject(inner, shape, outer)
  if (wrong !== undefined) noteProblem(object, name, wrong)
  return inner.members
}

/** An object among the elements becomes a `ReadObject`, which the caller has to check. */
function readArray(reader: JsonReader, place: Place, member: Member): readonly unknown[] {
  const { elementsMax = Infinity } = place.limits
  const elements: unknown[] = []
  let count = 0
  for (let isIn = reader.enterArray(); isIn; isIn = reader.nextElement()) {
    if (count++ >= elementsMax) reader.skip()
    else if (member.kind !== 'object') {
      const name = `${place.name}[${count - 1}]`
      elements.push(readMember(reader, { ...place, name, member }))
    } else elements.push(reader.first === openBrace ? readObject(reader, member.shape, {}) : reader.value())
  }
  elements.length = count
  return elements
}

/**
 * Parses the checked text with JSON.parse: adding properties with new names one by one would take three times as long.
 * JSON.parse would also build nested values, so it is used only if all values are strings.
 */
function readProperties(reader: JsonReader, place: Place): object {
  const start = reader.position
  let count = 0
  let areStrings = true
  for (let name = reader.enterObject(false); name !== undefined; name = reader.nextName(false)) {
    count++
    if (reader.first !== quote) areStrings = false
    reader.skip()
  }
  const text = reader.readSince(start)
  if (text === undefined) return {}
  if (areStrings && count <= propertiesMax) {
    const properties = JSON.parse(text.toString()) as object
    if (Object.keys(properties).length === count) return properties
  }
  noteProperties(new JsonReader(text, Infinity), place, count)
  return {}
}

/** Called if there are too many properties, one is not a string, or one is repeated. */
function noteProperties(reader: JsonReader, place: Place, count: number): void {
  const { object } = place
  const names = new Set<string>()
  let repeated: string | undefined
  let name = reader.enterObject()
  for (let left = propertiesMax; left > 0 && name !== undefined; left--) {
    if (names.has(name)) repeated ??= name
    names.add(name)
    const property = {
      ...place,
      name: `properties${/^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${quoted(name)}]`}`,
    }
    if (reader.first === quote) reader.skip()
    else note({ ...property, member: aString }, describe(reader.value()))
    name = reader.nextName()
  }
  if (name !== undefined) {
    const tooMany = `exceeds the limit of ${propertiesMax} properties; there are ${count}`
    object.propertiesProblem ??= problem('invalid_property', { name: name.toWellFormed(), problem: tooMany })
  } else if (repeated !== undefined) {
    const again = 'appears more than once'
    object.propertiesProblem ??= problem('invalid_property', { name: repeated, problem: again })
  }
}

const aString: Member = { kind: 'string', pattern: undefined, allowed: 'a string' }

function note(place: Place, found: string): void {
  const { name, prefix, object, member } = place
  const [own = name] = name.split(/[.[]/)
  const allowed = member.kind === 'integer' ? `an integer from ${member.min} to ${maxOf(place)}` : member.allowed
  noteProblem(object, own, invalidParameter(prefix + name, found, allowed))
}

function noteProblem(object: ReadObject, name: string, wrong: Problem): void {
  object.wrong ??= new Map()
  if (!object.wrong.has(name)) object.wrong.set(name, wrong)
}

/** Undefined if each member is given once, known, and of the right kind. @param prefix as in `Place` */
export function checkObject(object: ReadObject, shape: Shape, prefix = ''): Problem | undefined {
  const { members, tooDeep, repeated, propertiesProblem, isCrowded, hasUnknown, wrong } = object
  if (tooDeep !== undefined) return levelsProblem(prefix + tooDeep)
  if (repeated !== undefined) return problem('duplicate_parameter', { name: prefix + repeated })
  if (propertiesProblem !== undefined) return propertiesProblem
  if (isCrowded) return unknownMember(object, shape, prefix)
  if (wrong !== undefined || shape.required.some((name) => members[name] === undefined)) {
    const found = firstWrong(object, shape, prefix)
    if (found !== undefined) return found
  }
  const isForeign = hasUnknown || shape.foreign.some((name) => Object.hasOwn(members, name))
  return isForeign ? unknownMember(object, shape, prefix) : undefined
}

function firstWrong(object: ReadObject, shape: Shape, prefix: string): Problem | undefined {
  for (const [name, { allowed }] of shape.members) {
    const wrong = object.wrong?.get(name)
    if (wrong !== undefined) return wrong
    if (!shape.required.includes(name) || object.members[name] !== undefined) continue
    // If a member is missing and another is unknown, the unknown name is probably a misspelling.
    const missing = { name: prefix + name, allowed: `it must be ${allowed}` }
    return unknownMember(object, shape, prefix) ?? problem('missing_parameter', missing)
  }
  return undefined
}

function unknownMember({ members }: ReadObject, shape: Shape, prefix: string): Problem | undefined {
  const name = Object.keys(members).find((name) => !shape.members.has(name))
  if (name === undefined) return undefined
  const allowed = [...shape.members.keys()].sort().map((known) => `"${prefix}${known}"`)
  return problem('unknown_parameter', { name: prefix + quoted(name).slice(1, -1), allowed: allowed.join(', ') })
}

function levelsProblem(name: string): Problem {
  return wrongParameter(name, `must not be nested more than ${valueLevelsMax} levels deep`)
}

/** Maximum UTF-16 units of the client's text in a message. */
const repeatedMax = 40

/** Describes a value for a message, with long strings shortened. */
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
