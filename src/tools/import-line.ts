/**
 * One line of an import, parsed whole and checked as far as the line alone allows. It holds no view into the bytes that it was
 * read from. What the store already has is not known here.
 */
import { parsePathParameter, parseRequestedProperties, parseValue, planRemoveClause } from '../api/parse.js'
import { parseBody } from '../api/parse-body.js'
import { isProblem } from '../api/problems.js'
import type { Creation, KeyRecord, Operation } from '../store/store.js'
import { parsePath } from '../topics/path.js'
import type { TopicType } from '../topics/topic.js'
import { keyLineShape, topicLineShape } from '../validators.js'

/** Why a line cannot be imported, in words that follow its number. */
export class WrongLine extends Error {}

/** A topic's line, as export writes it; type and properties may be left out as in a request. */
export interface TopicLine {
  readonly path: string
  readonly type?: TopicType
  readonly properties?: Readonly<Record<string, string>>
  readonly value?: unknown
}

/** An API key's line, as export writes it. */
export interface KeyLine {
  readonly key: {
    /** @pattern ^[\w.@-]{1,64}$ */
    readonly name: string
    /** @pattern ^[0-9a-f]{64}$ */
    readonly tokenHash: string
    readonly allow: readonly Operation[]
    readonly under: readonly string[]
    /** @type uint64 */
    readonly madeMs: number
  }
}

const keyPrefix = Buffer.from('{"key":')

/** A topic to be there afterwards. */
export interface ImportedTopic extends Creation {
  readonly kind: 'topic'
  /** Undefined for a topic that never had a value. */
  readonly valueText: Uint8Array | undefined
}

/** An API key to be there afterwards. */
export interface ImportedKey {
  readonly kind: 'key'
  readonly record: KeyRecord
}

export type ImportLine = ImportedTopic | ImportedKey

/**
 * Parses a line, without its end.
 *
 * @throws WrongLine when it is not such a line
 */
export function parseImportLine(line: Uint8Array): ImportLine {
  return keyPrefix.equals(line.subarray(0, keyPrefix.length)) ? parseKey(line) : parseTopic(line)
}

function parseTopic(line: Uint8Array): ImportedTopic {
  const parsed = parseBody(line, topicLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { type = 'json', properties = {}, value } = parsed.body
  const path = parsePathParameter('path', parsed.body.path)
  if (isProblem(path)) throw new WrongLine(path.message)
  const valueText = parsed.valueText && parseValue(parsed.valueText, value, type)
  if (isProblem(valueText)) throw new WrongLine(valueText.message)
  const checked = parseRequestedProperties(properties)
  if (isProblem(checked)) throw new WrongLine(checked.message)
  const { removal } = checked
  const clause = planRemoveClause(removal)
  if (isProblem(clause)) throw new WrongLine(clause.message)
  return { kind: 'topic', path, type, properties, removal, valueText: valueText && Buffer.from(valueText) }
}

function parseKey(line: Uint8Array): ImportedKey {
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

/** A problem of a request's body, in words for a line. */
function wordsOf({ message }: { readonly message: string }): string {
  return message.replace(/^The request body/, 'It')
}
