/**
 * One line of an import, parsed completely and checked as far as the line alone allows. The result keeps no view into the bytes
 * that it was parsed from. Nothing here knows what is stored.
 */
import typia, { type tags } from 'typia'
import type { BodyShape } from '../api/bodies.js'
import { removalProblem } from '../api/context.js'
import { isProblem, parseBody, pathParameter, propertiesProblem, valueProblem } from '../api/parse.js'
import { accessOf } from '../auth/access.js'
import type { Creation, KeyRecord, Operation } from '../store/store.js'
import { parsePath } from '../topics/path.js'
import type { TopicType } from '../topics/topic.js'

/** Why a line cannot be imported, in words that follow its number. */
export class WrongLine extends Error {}

/** A topic's line, as export writes it; type and properties may be left out as in a request. */
interface TopicLine {
  readonly path: string
  readonly type?: TopicType
  readonly properties?: Readonly<Record<string, string>>
  readonly value?: unknown
}

/** An API key's line, as export writes it. */
interface KeyLine {
  readonly key: {
    readonly name: string & tags.Pattern<'^[\\w.@-]{1,64}$'>
    readonly tokenHash: string & tags.Pattern<'^[0-9a-f]{64}$'>
    readonly allow: readonly Operation[]
    readonly under: readonly string[]
    readonly madeMs: number & tags.Type<'uint64'>
  }
}

const topicLineShape: BodyShape<TopicLine> = {
  validate: typia.createValidateEquals<TopicLine>(),
  names: typia.misc.literals<keyof TopicLine>(),
}
const keyLineShape: BodyShape<KeyLine> = {
  validate: typia.createValidateEquals<KeyLine>(),
  names: typia.misc.literals<keyof KeyLine['key']>().map((name) => `key.${name}`),
}

const keyPrefix = Buffer.from('{"key":')

/** A user who may run an import may do everything. */
const everything = accessOf({
  name: 'import',
  tokenHash: '',
  allow: ['fetch', 'set', 'add', 'remove'],
  under: [],
  madeMs: 0,
})

/** A topic to store. */
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

export type ImportLine = ImportedTopic | ImportedKey

/**
 * Parses a line, without its end.
 *
 * @throws WrongLine when it is not a valid line
 */
export function parseImportLine(line: Uint8Array): ImportLine {
  return keyPrefix.equals(line.subarray(0, keyPrefix.length)) ? parseKey(line) : parseTopic(line)
}

function parseTopic(line: Uint8Array): ImportedTopic {
  const parsed = parseBody(line, topicLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { type = 'json', properties = {}, value } = parsed.body
  const { valueText } = parsed
  const path = pathParameter('path', parsed.body.path)
  if (isProblem(path)) throw new WrongLine(path.message)
  const wrong =
    (valueText && valueProblem(valueText, value, type)) ??
    propertiesProblem(properties) ??
    removalProblem(everything, properties)
  if (wrong) throw new WrongLine(wrong.message)
  return { kind: 'topic', path, type, properties, valueText: valueText && Buffer.from(valueText) }
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

/** The message of a problem with a request's body, reworded for a line. */
function wordsOf({ message }: { readonly message: string }): string {
  return message.replace(/^The request body/, 'It')
}
