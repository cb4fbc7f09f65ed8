/**
 * One line of an import, parsed completely and checked as far as the line alone allows. The result keeps no view into
 * the bytes that it was parsed from. Nothing here reads the store.
 */
import { parsePathParameter, parseRequestedProperties, parseValue, planRemoveClause } from '../api/bodies/parse.js'
import { parseBody } from '../api/bodies/parse-body.js'
import { isProblem } from '../api/problems.js'
import type { KeyRecord } from '../keys/record.js'
import { Planner } from '../selectors/planner.js'
import type { Creation } from '../store/topics.js'
import { parsePath } from '../topics/path.js'
import { endLineShape, keyLineShape, topicLineShape } from './validators.js'

/** Why a line cannot be imported, in words that follow its number. */
export class WrongLine extends Error {}

const keyPrefix = Buffer.from('{"key":')
const endPrefix = Buffer.from('{"end":')

/** Whether a line says that an export ends; what it says is still to be checked. */
export function isEndLine(line: Uint8Array): boolean {
  return endPrefix.equals(line.subarray(0, endPrefix.length))
}

/** A topic to create or to set. */
export interface ImportedTopic extends Creation {
  readonly kind: 'topic'
  /** Undefined for a topic that never had a value. */
  readonly valueText: Uint8Array | undefined
}

/** An API key to store. */
interface ImportedKey {
  readonly kind: 'key'
  readonly record: KeyRecord
}

/** The end of an export, and how many lines it says came before it. */
interface ImportedEnd {
  readonly kind: 'end'
  readonly lines: number
}

export type ImportLine = ImportedTopic | ImportedKey | ImportedEnd

/**
 * Parses the bytes of a line, without its end.
 *
 * @throws WrongLine when they are not a valid line
 */
export function parseImportLine(bytes: Uint8Array): ImportLine {
  const line = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (isEndLine(line)) return parseExpiry(line)
  return keyPrefix.equals(line.subarray(0, keyPrefix.length)) ? parseKey(line) : parseTopic(line)
}

function parseTopic(line: Buffer): ImportedTopic {
  const parsed = parseBody(line, topicLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { type = 'json', properties = {} } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) throw new WrongLine(path.message)
  const valueText = parsed.valueText && parseValue(parsed.valueText, type)
  if (isProblem(valueText)) throw new WrongLine(valueText.message)
  const checked = parseRequestedProperties(properties)
  if (isProblem(checked)) throw new WrongLine(checked.message)
  const { removal } = checked
  const clause = planRemoveClause(removal, new Planner())
  if (isProblem(clause)) throw new WrongLine(clause.message)
  return { kind: 'topic', path, type, properties, removal, valueText: valueText && Buffer.from(valueText) }
}

function parseKey(line: Buffer): ImportedKey {
  const parsed = parseBody(line, keyLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { key } = parsed.body
  const under = key.under.map((text) => {
    const path = parsePath(text)
    if (typeof path !== 'string') throw new WrongLine(`A subtree of the key ${path.problem}.`)
    return path
  })
  return { kind: 'key', record: { ...key, under } }
}

function parseExpiry(line: Buffer): ImportedEnd {
  const parsed = parseBody(line, endLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { topics, keys } = parsed.body.end
  return { kind: 'end', lines: topics + keys }
}

/** The message of a problem with a request's body, reworded for a line. */
function wordsOf({ message }: { readonly message: string }): string {
  return message.replace(/^The request body/, 'It')
}
