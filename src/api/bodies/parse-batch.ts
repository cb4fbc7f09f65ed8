/**
 * From the bytes of a batch to its operations, each checked as the body of its route, or to the first problem. Nothing
 * here knows what the operations would do.
 */

import { openBrace, openBracket } from '../../json/bytes.js'
import { spaceEnd, valueEnd } from '../../json/scan.js'
import { valueLevelsMax } from '../../settings/limits.js'
import type { WriteOperation } from '../../store/topics.js'
import { isProblem, type Problem, problem } from '../problems.js'
import { batchShape, operationShapes } from '../validators.js'
import { BodyObject } from './body-object.js'
import { addAndSetOperation, addOperation, incrementOperation, removeOperation, setOperation } from './parse.js'
import { checkObject, describe, parseObject } from './parse-body.js'

/**
 * A value is in an operation, which is in an array; and perhaps in a constraint. One level more, so that a value with one
 * too many is found in its operation, and the answer names both.
 */
const levelsMax = valueLevelsMax + 4

/** A batch whose operations stand or fall together, or each on its own. */
type Batch =
  | { readonly isAtomic: true; readonly operations: readonly WriteOperation[] }
  | { readonly isAtomic: false; readonly operations: readonly (WriteOperation | Problem)[] }

/**
 * @param operationsMax how many operations a batch may have
 * @returns the operations, whose texts are views into `bytes`; or a problem, with the index of the operation that has it
 */
export function parseBatch(bytes: Buffer, operationsMax: number): Batch | Problem {
  const object = parseObject(bytes, { levelsMax, operationsMax })
  if (isProblem(object)) return areLines(bytes) ? linesProblem : object
  const batch = checkObject(object, batchShape)
  if (isProblem(batch)) return batch.code === 'unknown_parameter' && 'op' in object.input ? lineProblem : batch
  const { operations: elements, operationsCount: count } = object
  if (count < 1 || count > operationsMax) return countProblem(count, operationsMax)
  if (batch.body.atomic === false) return { isAtomic: false, operations: elements.map(parseElement) }
  const operations: WriteOperation[] = []
  for (const [index, element] of elements.entries()) {
    const operation = parseElement(element)
    if (isProblem(operation)) return { ...operation, operation: index }
    operations.push(operation)
  }
  return { isAtomic: true, operations }
}

/** Whether a body that is not JSON consists of lines that each could be an operation. */
function areLines(bytes: Buffer): boolean {
  const end = bytes.indexOf('\n')
  if (end === -1 || bytes[spaceEnd(bytes, end)] !== openBrace) return false
  return !isProblem(parseObject(bytes.subarray(0, end), {}))
}

const linesType = 'operations of one line each need the content-type application/x-ndjson'

const linesProblem = problem('invalid_json', {
  problem: `it has several lines, each of them a JSON text; ${linesType}`,
})

const lineProblem = problem('unknown_parameter', { name: 'op', allowed: `"atomic", "operations"; ${linesType}` })

/** The operation of a line; undefined for one without anything but white space. */
export function parseLine(line: Buffer): WriteOperation | Problem | undefined {
  if (spaceEnd(line, 0) === line.length) return undefined
  const object = parseObject(line, {})
  return isProblem(object) ? ofLine(object) : parseOperation(object)
}

/** How a body begins that is compressed. */
const compressions = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const

/** How one in UTF-16 begins: with its byte order mark, or the first bracket of JSON. */
const utf16: readonly (readonly number[])[] = [
  [0xff, 0xfe],
  [0xfe, 0xff],
  ...[openBrace, openBracket].flatMap((bracket) => [
    [bracket, 0],
    [0, bracket],
  ]),
]

/** What stands between objects on one line: separators, and line ends that were escaped or are those of others. */
const nextObject = /^(?:[\s,;]|\\[rn])*\{/

/** How the body of the batch route begins. */
const batchBody = /^\{\s*"(?:operations|atomic)"\s*:/

/** How a line ends whose object goes on in the next. */
const openEnd = /[{[,:]\s*$/

/**
 * The problem of a whole upload whose first line is no operation since its body is something else: then no line is one.
 *
 * @param line the first line that is not blank
 * @param isWhole whether that is all of it, not its start
 * @returns undefined if the body may well have operations
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
    return otherBody('has one on several lines: write each on a single line, as "jq -c" does')
  if (end < 0 || !nextObject.test(line.toString('latin1', end))) return undefined
  return otherBody('has several on its first line: end each with a line feed')
}

function otherBody(found: string): Problem {
  return problem('invalid_upload', { problem: found })
}

/** A problem of a whole body, as one of a line. */
function ofLine(found: Problem): Problem {
  return { ...found, message: found.message.replace(/^The request body/, 'The line') }
}

function parseElement(element: unknown): WriteOperation | Problem {
  return element instanceof BodyObject ? parseOperation(element) : elementProblem(element)
}

function elementProblem(element: unknown): Problem {
  const found = `an array that contains ${describe(element)}`
  return problem('invalid_parameter', { name: 'operations', found, allowed: 'an array of objects' })
}

/** An object without `op`, which is refused, but may have the members of any operation. */
const withoutOp = {
  ...operationShapes.remove,
  names: [...new Set(Object.values(operationShapes).flatMap(({ names }) => names))],
}

function parseOperation(object: BodyObject): WriteOperation | Problem {
  switch (object.input.op) {
    case 'set': {
      const checked = checkObject(object, operationShapes.set)
      return isProblem(checked) ? checked : setOperation(checked)
    }
    case 'increment': {
      const checked = checkObject(object, operationShapes.increment)
      return isProblem(checked) ? checked : incrementOperation(checked)
    }
    case 'addAndSet': {
      const checked = checkObject(object, operationShapes.addAndSet)
      return isProblem(checked) ? checked : addAndSetOperation(checked)
    }
    case 'add': {
      const checked = checkObject(object, operationShapes.add)
      return isProblem(checked) ? checked : addOperation(checked)
    }
    default: {
      // Its validator refuses any other `op`.
      const checked = checkObject(object, object.input.op === undefined ? withoutOp : operationShapes.remove)
      return isProblem(checked) ? checked : removeOperation(checked)
    }
  }
}

function countProblem(count: number, operationsMax: number): Problem {
  const found = count === 0 ? 'an empty array' : `an array of ${count}`
  return problem('invalid_parameter', {
    name: 'operations',
    found,
    allowed: `an array of 1 to ${operationsMax} operations`,
  })
}
