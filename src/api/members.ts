/**
 * The members of a request body, found in one pass over its bytes before JSON.parse: the text of `value`, so that a
 * value is stored as it was sent and never serialised again; what JSON.parse would merge or round; how deep the values
 * nest; and what JSON.parse need not see, so that no body causes deep recursion or much allocation.
 *
 * The result counts only if the body is JSON: in a text that is not, it is correct up to the first wrong byte, which
 * json-problem.ts finds; after that the pass is only certain to end. json-bytes.ts says how bytes past the end compare.
 */
import { propertiesMax, valueLevelsMax } from '../limits.js'
import { bodyNamesMax } from '../validators.js'
import { backslash, closeBrace, closeBracket, comma, isAt, openBrace, openBracket, quote, space } from './json-bytes.js'
import { skipSpace, skipString, skipValue, tooDeep } from './skip-json.js'

/** The members of one object. The texts are views into the body; undefined where there is no such member. */
export interface Members {
  /** How many there are, up to a bound; a repeated one counts each time. */
  count: number
  /** Whether there are more: then at least one has a name that is unknown or repeated, and the rest was not examined. */
  isCrowded: boolean
  /** Where the object begins, and the position after it. */
  start: number
  end: number
  value: Uint8Array | undefined
  /** Of a constraint only. */
  version: Uint8Array | undefined
  size: Uint8Array | undefined
  deepBranchDepth: Uint8Array | undefined
  deepBranchLimit: Uint8Array | undefined
  /** Undefined too if it is not an object. */
  properties: PropertyMembers | undefined
  /** The members of `constraint`; empty if it is not an object. */
  constraint: Members | undefined
  /** The members of each element of `operations`, up to a bound; empty for one that is not an object. */
  operations: Members[] | undefined
  /** How many elements `operations` has. */
  operationsCount: number
  /** The name, quoted, of the first member whose value has too many levels; nothing after it was examined. */
  tooDeep: Uint8Array | undefined
}

/** The members of `properties`. */
interface PropertyMembers {
  /** How many there are; a repeated one counts each time. */
  readonly count: number
  /** Whether all are strings. */
  readonly areStrings: boolean
  /** Whether its contents are cut from the body, and are to be parsed without these cuts of their own. */
  readonly ownCuts: Cuts | undefined
  /** Where the object begins, and the position after it. */
  readonly start: number
  readonly end: number
}

/**
 * The parts of a body that JSON.parse need not see: the start of each and the position after it, in the order of the
 * text. They are the contents of arrays and objects of which only the text counts, properties that are parsed later, and
 * what follows the members or elements that a bound allows. What remains of a JSON text is JSON.
 */
export type Cuts = number[]

/** More than any valid object has: among so many, one is unknown or repeated. */
const membersMax = bodyNamesMax + 1

/** Properties of an operation up to this length are not cut: to parse them apart would take longer than it saves. */
const propertiesUncutMax = 256

/** The first byte that is not white space, which says what kind of value a text is; undefined when there is none. */
export function firstByte(text: Uint8Array): number | undefined {
  return text[skipSpace(text, 0)]
}

/**
 * @param body UTF-8 of one JSON object; for any other text nothing is found
 * @param cuts is added to, unless the object is nested too deep
 * @param levelsMax how deep a member's value may nest; a constraint one level deeper, since a value is in it
 * @param start where the object begins
 * @param operationsMax how many elements of `operations` are examined, in the same pass; without it, none
 */
export function scanMembers(
  body: Buffer,
  cuts: Cuts = [],
  levelsMax = valueLevelsMax,
  start = 0,
  operationsMax = 0,
): Members {
  const members = noMembers(start)
  const isOperation = start > 0
  let kept = start
  members.end = eachMember(body, start, (nameStart, nameEnd, start) => {
    if (members.count === membersMax) {
      members.isCrowded = true
      return undefined
    }
    members.count++
    const name = knownName(body, nameStart, nameEnd)
    let end: number | typeof tooDeep
    if (name === 'operations' && operationsMax > 0 && body[start] === openBracket) {
      end = scanElements(body, start, levelsMax, operationsMax, members, cuts)
    } else if (name === 'properties' && body[start] === openBrace) {
      end = scanProperties(body, start, levelsMax, members, isOperation, cuts)
    } else {
      end = skipValue(body, start, name === 'constraint' ? levelsMax + 1 : levelsMax)
      if (end !== tooDeep) keepText(body, name, start, end, members, cuts)
    }
    if (end === tooDeep) {
      members.tooDeep = body.subarray(nameStart, nameEnd)
      return undefined
    }
    kept = end
    return end
  })
  if (members.isCrowded) members.end = cutRest(body, start, kept, cuts)
  return members
}

function noMembers(start: number): Members {
  return {
    count: 0,
    isCrowded: false,
    start,
    end: start,
    value: undefined,
    version: undefined,
    size: undefined,
    deepBranchDepth: undefined,
    deepBranchLimit: undefined,
    properties: undefined,
    constraint: undefined,
    operations: undefined,
    operationsCount: 0,
    tooDeep: undefined,
  }
}

/** Keeps what is needed of a member's value, and cuts what JSON.parse need not see. */
function keepText(
  body: Buffer,
  name: KeptName | undefined,
  start: number,
  end: number,
  members: Members,
  cuts: Cuts,
): void {
  if (name === 'constraint') {
    members.constraint = scanConstraint(body, start, end, cuts)
    return
  }
  if (name === 'value') members.value = withoutSpace(body.subarray(start, end))
  else if (name !== undefined && name !== 'operations' && name !== 'properties')
    members[name] = body.subarray(start, end)
  cutContents(body, start, end, cuts)
}

/**
 * The members of the properties that begin at `start`. Not with `eachMember`: a batch can have 100,000 of them.
 *
 * @returns the position after the object, or `tooDeep`
 */
function scanProperties(
  body: Buffer,
  start: number,
  levelsMax: number,
  members: Members,
  isOperation: boolean,
  cuts: Cuts,
): number | typeof tooDeep {
  let count = 0
  let areStrings = true
  const ownCuts: Cuts = []
  let at = skipSpace(body, start + 1)
  while (at < body.length && body[at] !== closeBrace) {
    count++
    at = skipSpace(body, skipSpace(body, skipString(body, at)) + 1)
    if (body[at] === quote) {
      at = skipString(body, at)
    } else {
      areStrings = false
      const valueStart = at
      at = skipValue(body, at, levelsMax - 1)
      if (at === tooDeep) return tooDeep
      cutContents(body, valueStart, at, ownCuts)
    }
    at = skipSpace(body, at)
    if (body[at] === comma) at = skipSpace(body, at + 1)
  }
  const end = at + 1
  // Alone, properties are parsed sooner with their body; of a thousand, each is parsed once its operation is reached.
  const areCut = count > propertiesMax || (isOperation && end - start > propertiesUncutMax)
  if (areCut) cutContents(body, start, end, cuts)
  else cuts.push(...ownCuts)
  members.properties = { count, areStrings, ownCuts: areCut ? ownCuts : undefined, start, end }
  return end
}

/** The members of a constraint, of which `value` and `version` are kept. */
function scanConstraint(body: Buffer, start: number, end: number, cuts: Cuts): Members {
  const members = noMembers(start)
  members.end = end
  if (body[start] !== openBrace) {
    cutContents(body, start, end, cuts)
    return members
  }
  let kept = start
  eachMember(body, start, (nameStart, nameEnd, start) => {
    if (members.count === membersMax) {
      members.isCrowded = true
      return undefined
    }
    members.count++
    kept = skipValue(body, start, Infinity)
    if (knownName(body, nameStart, nameEnd) === 'value') members.value = withoutSpace(body.subarray(start, kept))
    else if (spells(body, nameStart, nameEnd, versionName)) members.version = body.subarray(start, kept)
    cutContents(body, start, kept, cuts)
    return kept
  })
  if (members.isCrowded) cuts.push(kept, end - 1)
  return members
}

/** Cuts the contents of an array or object, if it has any. */
function cutContents(body: Buffer, start: number, end: number, cuts: Cuts): void {
  const first = body[start]
  if ((first === openBrace || first === openBracket) && end - start > 2) cuts.push(start + 1, end - 1)
}

/** Cuts what follows the position `kept` in the object at `start`; @returns the position after the object */
function cutRest(body: Buffer, start: number, kept: number, cuts: Cuts): number {
  const end = skipValue(body, skipSpace(body, start), Infinity)
  cuts.push(kept, end - 1)
  return end
}

/**
 * The elements of the array at `start`: each is an operation, whose members may nest as deep as those of a body.
 *
 * @param levelsMax how deep the array may nest
 * @param members gets the elements, up to `countMax`, and their number
 * @returns the position after the array, or `tooDeep`
 */
function scanElements(
  body: Buffer,
  start: number,
  levelsMax: number,
  countMax: number,
  members: Members,
  cuts: Cuts,
): number | typeof tooDeep {
  const elements: Members[] = []
  members.operations = elements
  members.operationsCount = 0
  let at = skipSpace(body, start + 1)
  let kept = at
  while (at < body.length && body[at] !== closeBracket) {
    const end =
      members.operationsCount++ < countMax
        ? scanElement(body, at, levelsMax - 1, elements, cuts)
        : skipValue(body, at, levelsMax - 1)
    if (end === tooDeep) return tooDeep
    if (members.operationsCount <= countMax) kept = end
    // In a text that is not JSON, nothing may have been skipped.
    at = skipSpace(body, Math.max(end, at + 1))
    if (body[at] === comma) at = skipSpace(body, at + 1)
  }
  if (members.operationsCount > countMax) cuts.push(kept, at)
  return at + 1
}

/** @returns the position after the element, whose members are added to `elements`, or `tooDeep` */
function scanElement(
  body: Buffer,
  at: number,
  levelsMax: number,
  elements: Members[],
  cuts: Cuts,
): number | typeof tooDeep {
  const cutsBefore = cuts.length
  const members = scanMembers(body, cuts, valueLevelsMax, at)
  elements.push(members)
  const isWhole = body[at] === openBrace && members.tooDeep === undefined
  if (isWhole && !members.isCrowded) return members.end
  // Its depth is not known yet.
  const end = skipValue(body, at, levelsMax)
  if (end === tooDeep || isWhole) return end
  cuts.length = cutsBefore
  cutContents(body, at, end, cuts)
  return end
}

/** The first name that the object at `start` has more than once, however it is escaped; undefined when there is none. */
export function repeatedName(body: Buffer, start = 0): string | undefined {
  const names = new Set<string>()
  let repeated: string | undefined
  eachMember(body, start, (nameStart, nameEnd, start) => {
    const name = spelt(body, nameStart, nameEnd)
    // A set that already has the name does not grow.
    const known = names.size
    if (names.add(name).size === known) repeated = name
    return repeated === undefined ? skipValue(body, start, Infinity) : undefined
  })
  return repeated
}

/** The name of a member by its place, from 0 on; undefined if there are not so many. */
export function nameAt(body: Buffer, start: number, place: number): string | undefined {
  let passed = 0
  let name: string | undefined
  eachMember(body, start, (nameStart, nameEnd, start) => {
    if (passed++ === place) name = spelt(body, nameStart, nameEnd)
    return name === undefined ? skipValue(body, start, Infinity) : undefined
  })
  return name
}

/** The name that a JSON string spells. */
export function unquoted(name: Uint8Array): string {
  return JSON.parse(Buffer.from(name).toString()) as string
}

/** The name that the JSON string from `start` to `end` spells; most have no escapes. */
function spelt(bytes: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at++) {
    if (bytes[at] === backslash || (bytes[at] as number) > 0x7f) return unquoted(bytes.subarray(start, end))
  }
  return bytes.toString('latin1', start + 1, end - 1)
}

/** @returns the position after the member's value, which begins at `start`; undefined to end the visits */
type Visit = (nameStart: number, nameEnd: number, start: number) => number | undefined

/** @returns the position after the object at `start`, or where the visits ended */
function eachMember(body: Buffer, start: number, visit: Visit): number {
  let at = skipSpace(body, start)
  if (body[at] !== openBrace) return at
  at = skipSpace(body, at + 1)
  while (at < body.length && body[at] !== closeBrace) {
    const nameEnd = skipString(body, at)
    const end = visit(at, nameEnd, skipSpace(body, skipSpace(body, nameEnd) + 1))
    if (end === undefined) return at
    at = skipSpace(body, end)
    if (body[at] === comma) at = skipSpace(body, at + 1)
  }
  return at + 1
}

/** The members whose texts are kept, each with its name. */
const known = (
  [
    ['value', 'value'],
    ['size', 'size'],
    ['properties', 'properties'],
    ['constraint', 'constraint'],
    ['operations', 'operations'],
    ['deepBranchDepth', 'deep_branch_depth'],
    ['deepBranchLimit', 'deep_branch_limit'],
  ] as const satisfies readonly (readonly [keyof Members, string])[]
).map(([member, name]) => ({ member, name: Buffer.from(name) }))

/** The same by the first byte of a name, which may be an escaped one: most names have no candidate. */
const knownByFirst = Array.from({ length: 256 }, (_, byte) =>
  byte === backslash ? known : known.filter(({ name }) => name[0] === byte),
)

/** The members that are kept. */
type KeptName = (typeof known)[number]['member']

/** The member that the quoted name from `start` to `end` belongs to, if it is kept. */
function knownName(body: Uint8Array, start: number, end: number): KeptName | undefined {
  const candidates = knownByFirst[body[start + 1] as number]
  if (candidates === undefined) return undefined
  for (const { member, name } of candidates) if (spells(body, start, end, name)) return member
  return undefined
}

/** Known in a constraint alone. */
const versionName = Buffer.from('version')

const letterU = 0x75

/** Whether the quoted name from `start` to `end` is `name`, however its letters are escaped. */
function spells(body: Uint8Array, start: number, end: number, name: Buffer): boolean {
  if (end - start === name.length + 2) return isAt(body, start + 1, name)
  let at = start + 1
  for (let i = 0; i < name.length; i++) {
    if (body[at] === name[i]) at++
    else if (body[at] === backslash && body[at + 1] === letterU && escaped(body, at + 2) === name[i]) at += 6
    else return false
  }
  return at === end - 1
}

/** The code unit that the four hexadecimal digits at `at` stand for. */
function escaped(body: Uint8Array, at: number): number {
  return Number.parseInt(Buffer.from(body.subarray(at, at + 4)).toString('latin1'), 16)
}

/** Drops tabs and line ends: they cannot occur inside a JSON string, so they have no meaning. */
function withoutSpace(text: Uint8Array): Uint8Array {
  if (text[0] !== openBrace && text[0] !== openBracket) return text
  if (!text.includes(0x0a) && !text.includes(0x0d) && !text.includes(0x09)) return text
  // Not `filter`, which takes 30 times as long.
  const kept = Buffer.allocUnsafeSlow(text.length)
  let end = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    if (byte >= space) kept[end++] = byte
  }
  return kept.subarray(0, end)
}
