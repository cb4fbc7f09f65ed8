/** Parses a batch into its operations, each checked like the body of its route, or into a problem. */

import { openBrace, openBracket } from '../../json/bytes.js'
import { spaceEnd, valueEnd } from '../../json/scan.js'
import { valueLevelsMax } from '../../settings/limits.js'
import type { WriteAction, WriteOperation } from '../../store/topics.js'
import { invalidParameter, isProblem, type Problem, problem } from '../problems.js'
import type { BatchBody } from './bodies.js'
import { type OperationBody, operationOf } from './parse.js'
import { checkObject, describe, membersOf, ReadObject, readBytes } from './read-object.js'
import { operationShapes, shapes } from './shapes.js'

/**
 * A value is nested in an array, an operation and perhaps a constraint. The fourth level is for a value that is one level too
 * deep: the error is then found in its operation, and the response names the operation and the member.
 */
const levelsMax = valueLevelsMax + 4

export type BatchRequest =
  | { readonly isAtomic: true; readonly operations: readonly WriteOperation[] }
  | { readonly isAtomic: false; readonly operations: readonly (WriteOperation | Problem)[] }

/** @returns operations whose texts are views into `bytes` where possible; or a problem, with the index of its operation */
export function parseBatch(bytes: Buffer, operationsMax: number): BatchRequest | Problem {
  const object = readBytes(bytes, shapes.batch, { levelsMax, elementsMax: operationsMax })
  if (isProblem(object)) return areLines(bytes) ? linesProblem : object
  const wrong = checkObject(object, shapes.batch)
  if (wrong !== undefined) return wrong.code === 'unknown_parameter' && 'op' in object.members ? lineProblem : wrong
  const { operations: elements, atomic, with_version: wantsVersion } = membersOf<BatchBody>(object)
  const parse = (element: unknown) => parseElement(element, wantsVersion)
  if (elements.length < 1 || elements.length > operationsMax) return countProblem(elements.length, operationsMax)
  if (atomic === false) return { isAtomic: false, operations: elements.map(parse) }
  const operations: WriteOperation[] = []
  for (const [index, element] of elements.entries()) {
    const operation = parse(element)
    if (isProblem(operation)) return { ...operation, operation: index }
    operations.push(operation)
  }
  return { isAtomic: true, operations }
}

/** True if a body that is not JSON seems to consist of lines that are operations. */
function areLines(bytes: Buffer): boolean {
  const end = bytes.indexOf('\n')
  if (end === -1 || bytes[spaceEnd(bytes, end)] !== openBrace) return false
  return !isProblem(readBytes(bytes.subarray(0, end), operationShapes.any))
}

const linesType = 'to send one operation per line, use the content-type application/x-ndjson'

const linesProblem = problem('invalid_json', {
  problem: `it has several lines, each with its own JSON; ${linesType}`,
})

const lineProblem = problem('unknown_parameter', {
  name: 'op',
  allowed: `"atomic", "operations", "with_version"; ${linesType}`,
})

/** Undefined for a line of white space. */
export function parseLine(line: Buffer): WriteOperation | Problem | undefined {
  if (spaceEnd(line, 0) === line.length) return undefined
  const object = readBytes(line, operationShapes.any)
  return isProblem(object) ? ofLine(object) : parseOperation(object)
}

/** The first bytes of compressed bodies. */
const compressions = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const

/** The first bytes of UTF-16: its byte order mark, or the first bracket of JSON. */
const utf16: readonly (readonly number[])[] = [
  [0xff, 0xfe],
  [0xfe, 0xff],
  ...[openBrace, openBracket].flatMap((bracket) => [
    [bracket, 0],
    [0, bracket],
  ]),
]

/** The start of another object on the same line, after separators, escaped line ends or line ends of other systems. */
const nextObject = /^(?:[\s,;]|\\[rn])*\{/

const batchBody = /^\{\s*"(?:operations|atomic)"\s*:/

/** The end of a line whose object continues on the next line. */
const openEnd = /[{[,:]\s*$/

/**
 * The problem if the body as a whole has the wrong form; undefined if it may contain operations.
 *
 * @param line the first line that is not blank
 * @param isWhole false if `line` is only the start of the line
 */
export function otherBodyProblem(line: Buffer, isWhole: boolean): Problem | undefined {
  const beginsWith = (bytes: readonly number[]): boolean => bytes.every((byte, index) => line[index] === byte)
  for (const [name, bytes] of Object.entries(compressions))
    if (beginsWith(bytes)) return otherBody(`is compressed with ${name}: send it uncompressed`)
  if (utf16.some(beginsWith)) return otherBody('is UTF-16: send UTF-8')
  const start = spaceEnd(line, 0)
  if (line[start] === openBracket)
    return otherBody('is a JSON array: send each of its elements on its own line, without the brackets and commas')
  if (line[start] !== openBrace) return undefined
  if (batchBody.test(line.toString('latin1', start))) return otherBody('is a batch: send it as application/json')
  const end = valueEnd(line, start, { outer: 0, deepest: 0, max: Infinity })
  if (end < 0 && isWhole && openEnd.test(line.toString('latin1')))
    return otherBody('has an operation on several lines: write each on a single line, as "jq -c" does')
  if (end < 0 || !nextObject.test(line.toString('latin1', end))) return undefined
  return otherBody('has several operations on its first line: end each with a line feed')
}

function otherBody(found: string): Problem {
  return problem('invalid_upload', { problem: found })
}

/** Rewords a problem with a body as a problem with a line. */
function ofLine(found: Problem): Problem {
  return { ...found, message: found.message.replace(/^The request body/, 'The line') }
}

function parseElement(element: unknown, wantsVersion: boolean | undefined): WriteOperation | Problem {
  if (element instanceof ReadObject) return parseOperation(element, wantsVersion)
  return invalidParameter('operations', `an array that contains ${describe(element)}`, 'an array of objects')
}

function parseOperation(object: ReadObject, wantsVersion?: boolean): WriteOperation | Problem {
  const { op } = object.members
  const wrong = checkObject(object, operationShapes.of(op))
  // If `op` is unknown, `wrong` is always set.
  return wrong ?? operationOf(op as WriteAction['kind'], membersOf<OperationBody>(object), wantsVersion)
}

function countProblem(count: number, operationsMax: number): Problem {
  const found = count === 0 ? 'an empty array' : `an array of ${count}`
  return invalidParameter('operations', found, `an array of 1 to ${operationsMax} operations`)
}
