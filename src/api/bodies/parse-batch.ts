/**
 * From the bytes of a batch to its operations, each checked as the body of its route, or to the first problem. Nothing
 * here knows what the operations would do.
 */

import { spaceEnd } from '../../json/scan.js'
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
  if (isProblem(object)) return object
  const batch = checkObject(object, batchShape)
  if (isProblem(batch)) return batch
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

/** The operation of a line; undefined for one without anything but white space. */
export function parseLine(line: Buffer): WriteOperation | Problem | undefined {
  if (spaceEnd(line, 0) === line.length) return undefined
  const object = parseObject(line, {})
  return isProblem(object) ? ofLine(object) : parseOperation(object)
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
      const checked = checkObject(object, operationShapes.remove)
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
