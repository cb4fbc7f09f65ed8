/**
 * From the bytes of a batch to its operations, each checked as the body of its route, or to the first problem. Nothing
 * here knows what the operations would do.
 */
import { strict as assert } from 'node:assert'
import { valueLevelsMax } from '../limits.js'
import type { WriteOperation } from '../store/batch.js'
import { batchShape, operationShapes } from '../validators.js'
import { eachElement, scanMembers } from './members.js'
import { addAndSetRequest, addRequest, removeOneRequest, setRequest } from './parse.js'
import { checkObject, describe, parseObject } from './parse-body.js'
import { isProblem, type Problem, problem } from './problems.js'

/**
 * A value is in an operation, which is in an array; and perhaps in a constraint. One level more, so that a value with one
 * too many is found in its operation, and the answer names both.
 */
const levelsMax = valueLevelsMax + 4

/**
 * @param operationsMax how many operations a batch may have
 * @returns the operations, whose texts are views into `bytes`; or a problem, with the index of the operation that has it
 */
export function parseBatch(bytes: Buffer, operationsMax: number): readonly WriteOperation[] | Problem {
  const parsed = parseObject(bytes, levelsMax)
  if (isProblem(parsed)) return parsed
  const batch = checkObject(bytes, parsed.input, parsed.members, batchShape)
  if (isProblem(batch)) return batch
  const inputs = batch.body.operations
  if (inputs.length < 1 || inputs.length > operationsMax) return countProblem(inputs.length, operationsMax)
  assert(parsed.members.operations !== undefined, 'the validator requires operations')
  const operations: WriteOperation[] = []
  let refused: Problem | undefined
  eachElement(parsed.members.operations, (text) => {
    const operation = parseOperation(text, inputs[operations.length])
    if (isProblem(operation)) refused = { ...operation, operation: operations.length }
    else operations.push(operation)
    return refused === undefined
  })
  return refused ?? operations
}

/** @param input what `text` parses to */
function parseOperation(text: Buffer, input: unknown): WriteOperation | Problem {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return problem('invalid_parameter', {
      name: 'operations',
      found: `an array with ${describe(input)}`,
      allowed: objects,
    })
  }
  const members = scanMembers(text)
  switch ('op' in input ? input.op : undefined) {
    case 'set': {
      const parsed = checkObject(text, input, members, operationShapes.set)
      const request = isProblem(parsed) ? parsed : setRequest(parsed)
      return isProblem(request) ? request : { kind: 'set', ...request }
    }
    case 'addAndSet': {
      const parsed = checkObject(text, input, members, operationShapes.addAndSet)
      const request = isProblem(parsed) ? parsed : addAndSetRequest(parsed)
      if (isProblem(request)) return request
      const { path, type } = request.creation
      return { kind: 'addAndSet', path, type, ...request }
    }
    case 'add': {
      const parsed = checkObject(text, input, members, operationShapes.add)
      const request = isProblem(parsed) ? parsed : addRequest(parsed)
      if (isProblem(request)) return request
      const { path, type } = request.creation
      return { kind: 'add', path, type, ...request, valueText: undefined }
    }
    default: {
      // Its validator refuses any other `op`.
      const parsed = checkObject(text, input, members, operationShapes.remove)
      const request = isProblem(parsed) ? parsed : removeOneRequest(parsed)
      return isProblem(request) ? request : { kind: 'remove', ...request, valueText: undefined }
    }
  }
}

const objects = 'an array of objects'

function countProblem(count: number, operationsMax: number): Problem {
  const found = count === 0 ? 'an empty array' : `an array of ${count}`
  return problem('invalid_parameter', {
    name: 'operations',
    found,
    allowed: `an array of 1 to ${operationsMax} operations`,
  })
}
