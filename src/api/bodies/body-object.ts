/**
 * The objects of request bodies: a body, an operation of a batch, a constraint. Each is read once, and of each its
 * validator gets what it has to look at, while values stay the bytes that were sent.
 */
import { openBrace, openBracket, quote } from '../../json/bytes.js'
import { JsonReader, setMember } from '../../json/reader.js'
import { propertiesMax, valueLevelsMax } from '../../settings/limits.js'
import { bodyNamesMax } from '../validators.js'

/** More than any valid object has: among so many, one is unknown or repeated. */
const membersMax = bodyNamesMax + 1

/** What is read of an object, besides what is read of every one. */
export interface ReadOptions {
  /** How deep a member may nest; a constraint one level deeper, since a value is in it. */
  readonly levelsMax?: number
  /** How many elements of `operations` are read; without it, none. */
  readonly operationsMax?: number
  /** How many elements of `paths` are read, and one more if there are others; without it, none. */
  readonly pathsMax?: number
  /** Whether its validator looks into members other than `properties` and `constraint`. */
  readonly isNested?: boolean
}

/** An object that was read. It counts only if the reader found nothing wrong. */
export class BodyObject {
  /**
   * The members for a validator. Arrays and objects in them are empty, except `properties`, `constraint` and `paths`; in
   * place of `value` and `operations` there are null and an empty array.
   */
  readonly input: Record<string, unknown> = {}
  /** Members that are numbers, as they are written; without those of a few digits alone. */
  numberTexts: Map<string, string> | undefined = undefined
  valueText: Uint8Array | undefined = undefined
  properties: BodyProperties | undefined = undefined
  constraint: BodyObject | undefined = undefined
  /** The elements of `operations`, objects as `BodyObject`. */
  operations: readonly unknown[] = []
  /** How many elements `operations` has. */
  operationsCount = 0
  /** The first name that repeats an earlier one, however it is escaped. */
  repeated: string | undefined = undefined
  /** The first member that nests too deep. */
  tooDeep: string | undefined = undefined
  /** Whether there are more members than names: then the rest was only checked. */
  isCrowded = false
}

/** The properties of an object. */
interface BodyProperties {
  readonly input: object
  /** How many there are; a repeated one counts each time. */
  readonly count: number
  readonly repeated: string | undefined
  /** The first one beyond those that are allowed. */
  readonly beyond: string | undefined
}

/** Reads the object that comes next. */
export function readObject(reader: JsonReader, options: ReadOptions = {}): BodyObject {
  const object = new BodyObject()
  const { input } = object
  const { levelsMax = valueLevelsMax } = options
  const level = reader.outer + 1
  let count = 0
  for (let name = reader.enterObject(); name !== undefined; name = reader.nextName(!object.isCrowded)) {
    if (count++ === membersMax) object.isCrowded = true
    if (object.isCrowded) {
      reader.skip()
      continue
    }
    const { deepest } = reader
    reader.deepest = level
    if (Object.hasOwn(input, name)) object.repeated ??= name
    setMember(input, name, readMember(reader, name, object, options))
    if (reader.deepest - level > (name === 'constraint' ? levelsMax + 1 : levelsMax)) object.tooDeep ??= name
    if (reader.deepest < deepest) reader.deepest = deepest
  }
  return object
}

/** Reads a member's value into the object. @returns what the validator gets of it */
function readMember(
  reader: JsonReader,
  name: string,
  object: BodyObject,
  { operationsMax = 0, pathsMax = 0, isNested = false }: ReadOptions,
): unknown {
  const { first } = reader
  if (name === 'value') {
    object.valueText = reader.text()
    return null
  }
  if (name === 'properties' && first === openBrace) {
    object.properties = readProperties(reader)
    return object.properties.input
  }
  if (name === 'constraint' && first === openBrace) {
    object.constraint = readObject(reader, { levelsMax: Infinity })
    return object.constraint.input
  }
  if (name === 'operations' && first === openBracket && operationsMax > 0) {
    readOperations(reader, object, operationsMax)
    return []
  }
  if (name === 'paths' && first === openBracket && pathsMax > 0) return readPaths(reader, pathsMax)
  if (isNested) return reader.tree()
  const value = reader.value()
  if (typeof value === 'number' && reader.numberText !== '')
    (object.numberTexts ??= new Map()).set(name, reader.numberText)
  return value
}

function readPaths(reader: JsonReader, pathsMax: number): readonly unknown[] {
  const paths: unknown[] = []
  for (let isIn = reader.enterArray(); isIn; isIn = reader.nextElement()) {
    if (paths.length > pathsMax) reader.skip()
    else paths.push(reader.value())
  }
  return paths
}

/**
 * V8 makes an object of a text at once for a third of what it takes to add properties of new names one by one, and
 * nothing of the text is left to be found wrong. It would also make whatever is nested in it: so only if all are strings.
 */
function readProperties(reader: JsonReader): BodyProperties {
  const start = reader.position
  let count = 0
  let areStrings = true
  for (let name = reader.enterObject(false); name !== undefined; name = reader.nextName(false)) {
    count++
    if (reader.first !== quote) areStrings = false
    reader.skip()
  }
  const text = reader.readSince(start)
  if (text === undefined) return { input: {}, count, repeated: undefined, beyond: undefined }
  if (areStrings && count <= propertiesMax) {
    const input = JSON.parse(text.toString()) as object
    if (Object.keys(input).length === count) return { input, count, repeated: undefined, beyond: undefined }
  }
  return { ...readFaultyProperties(new JsonReader(text, Infinity)), count }
}

/**
 * The same for properties that are refused: too many, not all of them strings, or one of them repeated. Reads those that
 * are allowed, and one more. Its input has only those that are no strings, which its validator complains about.
 */
function readFaultyProperties(reader: JsonReader): Omit<BodyProperties, 'count'> {
  const input = {}
  const names = new Set<string>()
  let repeated: string | undefined
  let name = reader.enterObject()
  for (let left = propertiesMax; left > 0 && name !== undefined; left--) {
    if (names.has(name)) repeated ??= name
    names.add(name)
    if (reader.first === quote) reader.skip()
    else setMember(input, name, reader.value())
    name = reader.nextName()
  }
  return { input, repeated, beyond: name }
}

function readOperations(reader: JsonReader, object: BodyObject, operationsMax: number): void {
  const operations: unknown[] = []
  let count = 0
  for (let isIn = reader.enterArray(); isIn; isIn = reader.nextElement()) {
    if (count++ >= operationsMax) reader.skip()
    else operations.push(reader.first === openBrace ? readObject(reader) : reader.value())
  }
  object.operations = operations
  object.operationsCount = count
}
