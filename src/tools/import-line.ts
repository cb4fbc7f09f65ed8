/**
 * Parses one line of an import, and checks everything that does not depend on the store. The result contains no views of
 * the bytes from which it was parsed.
 */
import { parsePathParameter, parseRequestedProperties, parseValue, planRemoveClause } from '../api/bodies/parse.js'
import { describe, type Read, readBody } from '../api/bodies/read-object.js'
import { type Shape, shapeOf } from '../api/bodies/shape.js'
import { isProblem, type Problem } from '../api/problems.js'
import { isKeyName, type KeyRecord, keyNameForm, rightsProblem } from '../keys/record.js'
import { Planner } from '../selectors/planner.js'
import type { Creation } from '../store/topics.js'
import { parsePath } from '../topics/path.js'
import type { EndLine, KeyLine, TopicLine } from './export-format.js'
import { lineSchemas } from './validators.js'

const shapes = {
  topic: shapeOf<TopicLine>(lineSchemas.topic),
  key: shapeOf<KeyLine>(lineSchemas.key),
  end: shapeOf<EndLine>(lineSchemas.end),
}

/** A line that cannot be imported; the message follows the line's number. */
export class WrongLine extends Error {}

const keyPrefix = Buffer.from('{"key":')
const endPrefix = Buffer.from('{"end":')

/** True if a line starts like the end line of an export; the line may still be invalid. */
export function isEndLine(line: Uint8Array): boolean {
  return endPrefix.equals(line.subarray(0, endPrefix.length))
}

/** A topic to create or to set. */
export interface ImportedTopic extends Creation {
  readonly kind: 'topic'
  /** Undefined for a topic without a value. */
  readonly valueText: Uint8Array | undefined
}

export interface ImportedKey {
  readonly kind: 'key'
  readonly record: KeyRecord
}

interface ImportedEnd {
  readonly kind: 'end'
  /** The number of earlier lines, as stated by the end line. */
  readonly lines: number
}

export type ImportLine = ImportedTopic | ImportedKey | ImportedEnd

/** @param line without its line feed @throws WrongLine if the line is invalid */
export function parseImportLine(line: Buffer): ImportLine {
  if (isEndLine(line)) return parseEnd(line)
  return keyPrefix.equals(line.subarray(0, keyPrefix.length)) ? parseKey(line) : parseTopic(line)
}

function parseTopic(line: Buffer): ImportedTopic {
  const body = read(line, shapes.topic)
  const { type = 'json', properties = {}, value } = body
  const path = orWrong(parsePathParameter('path', body.path))
  const valueText = value && orWrong(parseValue(value, type))
  const removal = orWrong(parseRequestedProperties(properties))
  orWrong(planRemoveClause(removal, new Planner()))
  return { kind: 'topic', path, type, properties, removal, valueText: valueText && Buffer.from(valueText) }
}

function parseKey(line: Buffer): ImportedKey {
  const { key } = read(line, shapes.key)
  if (!isKeyName(key.name)) throw new WrongLine(`"key.name" is ${describe(key.name)}; it must be ${keyNameForm}`)
  const under = key.under.map((text) => {
    const path = parsePath(text)
    if (typeof path !== 'string') throw new WrongLine(`A subtree of the key "${key.name}" ${path.problem}.`)
    return path
  })
  const refused = rightsProblem(key)
  if (refused !== undefined) throw new WrongLine(`The key "${key.name}" cannot be imported: ${refused}.`)
  return { kind: 'key', record: { ...key, under } }
}

function parseEnd(line: Buffer): ImportedEnd {
  const { topics, keys } = read(line, shapes.end).end
  return { kind: 'end', lines: topics + keys }
}

function read<Line>(line: Buffer, shape: Shape<Line>): Read<Line> {
  const body = readBody(line, shape)
  // The problem is worded for the body of a request.
  if (isProblem(body)) throw new WrongLine(body.message.replace(/^The request body/, 'It'))
  return body
}

/** @throws WrongLine for a problem */
function orWrong<Result extends object | string | undefined>(result: Result | Problem): Result {
  if (isProblem(result)) throw new WrongLine(result.message)
  return result
}
