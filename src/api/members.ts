/**
 * The members of a request body, found in one pass over its bytes before JSON.parse: the text of `value`, so that a
 * value is stored as it was sent and never serialised again; what JSON.parse would merge or round; and how deep the
 * values nest, so that no body causes deep recursion or allocation.
 *
 * The result counts only if JSON.parse accepts the body too: in a text that is not JSON it is correct up to the first
 * wrong byte, which json-problem.ts finds; after that the pass is only certain to end. json-bytes.ts says how bytes
 * past the end compare.
 */
import { valueLevelsMax } from '../limits.js'
import { backslash, closeBrace, closeBracket, comma, isAt, openBrace, openBracket, quote, space } from './json-bytes.js'

/** The members of one object. The texts are views into the body; undefined where there is no such member. */
export interface Members {
  /** How many there are; a repeated one counts each time. */
  count: number
  /** The position after the object. */
  end: number
  value: Uint8Array | undefined
  size: Uint8Array | undefined
  deepBranchDepth: Uint8Array | undefined
  deepBranchLimit: Uint8Array | undefined
  properties: Buffer | undefined
  constraint: Buffer | undefined
  operations: Buffer | undefined
  /** The name, quoted, of the first member whose value has too many levels; nothing after it was examined. */
  tooDeep: Uint8Array | undefined
}

/** The first byte that is not white space, which says what kind of value a text is; undefined when there is none. */
export function firstByte(text: Uint8Array): number | undefined {
  return text[skipSpace(text, 0)]
}

/**
 * @param body UTF-8 of one JSON object; for any other text nothing is found
 * @param levelsMax how deep a member's value may nest; a constraint one level deeper, since a value is in it
 * @param start where the object begins
 */
export function scanMembers(body: Buffer, levelsMax = valueLevelsMax, start = 0): Members {
  const members: Members = {
    count: 0,
    end: start,
    value: undefined,
    size: undefined,
    deepBranchDepth: undefined,
    deepBranchLimit: undefined,
    properties: undefined,
    constraint: undefined,
    operations: undefined,
    tooDeep: undefined,
  }
  members.end = eachMember(body, start, levelsMax, (nameStart, nameEnd, start, end) => {
    members.count++
    if (end === tooDeep) members.tooDeep = body.subarray(nameStart, nameEnd)
    else if (spells(body, nameStart, nameEnd, valueName)) members.value = withoutSpace(body.subarray(start, end))
    else if (spells(body, nameStart, nameEnd, sizeName)) members.size = body.subarray(start, end)
    else if (spells(body, nameStart, nameEnd, propertiesName)) members.properties = body.subarray(start, end)
    else if (spells(body, nameStart, nameEnd, constraintName)) members.constraint = body.subarray(start, end)
    else if (spells(body, nameStart, nameEnd, operationsName)) members.operations = body.subarray(start, end)
    else if (spells(body, nameStart, nameEnd, depthName)) members.deepBranchDepth = body.subarray(start, end)
    else if (spells(body, nameStart, nameEnd, limitName)) members.deepBranchLimit = body.subarray(start, end)
    return true
  })
  return members
}

/** The first name that the object at `start` has more than once, however it is escaped; undefined when there is none. */
export function repeatedName(body: Buffer, start = 0): string | undefined {
  const names = new Set<string>()
  let repeated: string | undefined
  eachMember(body, start, Infinity, (nameStart, nameEnd) => {
    const name = spelt(body, nameStart, nameEnd)
    // A set that already has the name does not grow.
    const known = names.size
    if (names.add(name).size === known) repeated = name
    return repeated === undefined
  })
  return repeated
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

/** @returns whether to go on with the next member */
type Visit = (nameStart: number, nameEnd: number, start: number, end: number | typeof tooDeep) => boolean

/** In place of a value's end: the value has too many levels, and was not read further. */
const tooDeep = -1

/** @returns the position after the object at `start`, or where the visits ended */
function eachMember(body: Buffer, start: number, levelsMax: number, visit: Visit): number {
  let at = skipSpace(body, start)
  if (body[at] !== openBrace) return at
  at = skipSpace(body, at + 1)
  while (at < body.length && body[at] !== closeBrace) {
    const nameEnd = skipString(body, at)
    const start = skipSpace(body, skipSpace(body, nameEnd) + 1)
    let end = skipValue(body, start, levelsMax)
    if (end === tooDeep && spells(body, at, nameEnd, constraintName)) end = skipValue(body, start, levelsMax + 1)
    if (!visit(at, nameEnd, start, end) || end === tooDeep) return at
    at = skipSpace(body, end)
    if (body[at] === comma) at = skipSpace(body, at + 1)
  }
  return at + 1
}

/**
 * Calls `visit` with the position of each element of an array.
 *
 * @param array one JSON array, which JSON.parse has accepted
 * @param visit returns the position after the element; undefined to end the visits
 */
export function eachElement(array: Buffer, visit: (start: number) => number | undefined): void {
  let at: number | undefined = skipSpace(array, skipSpace(array, 0) + 1)
  while (array[at] !== closeBracket) {
    at = visit(at)
    if (at === undefined) return
    at = skipSpace(array, at)
    if (array[at] === comma) at = skipSpace(array, at + 1)
  }
}

function skipSpace(body: Uint8Array, at: number): number {
  while ((body[at] as number) <= space) at++
  return at
}

/**
 * Bytes of a string that are looked at one by one, before Buffer's search for the closing quote, and again after an
 * escaped quote. That search is a hundred times as fast on a long string, and costs as much as about ten such steps.
 */
const bytesPerSearch = 32

/** @returns the position after the closing quote of the string that begins at `at` */
function skipString(body: Buffer, at: number): number {
  const { length } = body
  let end = at + 1
  while (end < length) {
    for (const near = end + bytesPerSearch; end < near; end++) {
      const byte = body[end]
      if (byte === quote) return end + 1
      if (byte === backslash) end++
    }
    const found = body.indexOf(quote, end)
    if (found === -1) return length
    if (!isEscaped(body, found)) return found + 1
    end = found + 1
  }
  return length
}

/** Whether the quote at `at`, in a string, has an odd number of backslashes before it. */
function isEscaped(body: Buffer, at: number): boolean {
  let start = at
  while (body[start - 1] === backslash) start--
  return (at - start) % 2 === 1
}

/** @returns the position after the value that begins at `at`, or `tooDeep` */
function skipValue(body: Buffer, at: number, levelsMax: number): number | typeof tooDeep {
  const { length } = body
  const first = body[at]
  if (first === quote) return skipString(body, at)
  if (first !== openBrace && first !== openBracket) {
    while (isScalar[body[at] as number] === 1) at++
    return at
  }
  let levels = 0
  while (at < length) {
    const byte = body[at] as number
    if (isStructural[byte] === 0) at++
    else if (byte === quote) at = skipString(body, at)
    else {
      at++
      if (byte === openBrace || byte === openBracket) {
        if (++levels > levelsMax) return tooDeep
      } else if (--levels === 0) return at
    }
  }
  return length
}

/** 1 at each byte that begins or ends a string, an object or an array. */
const isStructural = new Uint8Array(256)
for (const byte of [quote, openBrace, closeBrace, openBracket, closeBracket]) isStructural[byte] = 1

/** 1 at each byte that can be within a number or a literal; the end of a text reads as undefined, and is none. */
const isScalar = new Uint8Array(256).fill(1, space + 1)
for (const byte of [comma, closeBrace, closeBracket]) isScalar[byte] = 0

const valueName = Buffer.from('value')
const sizeName = Buffer.from('size')
const propertiesName = Buffer.from('properties')
const constraintName = Buffer.from('constraint')
const operationsName = Buffer.from('operations')
const depthName = Buffer.from('deep_branch_depth')
const limitName = Buffer.from('deep_branch_limit')

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
