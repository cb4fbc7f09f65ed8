/**
 * The tool behind `topicd import`: the lines of an export, or any like them, become topics and API keys.
 *
 * Writes go through the store's own operations, many at a time, so whatever is there already is treated as addAndSet and
 * add treat it, and importing the same lines again changes nothing. It stops at the first wrong line: every line before it
 * has been imported then, and perhaps some after it. Of a path that stands in several lines any one may come last.
 */
import typia, { type tags } from 'typia'
import type { BodyShape } from '../api/bodies.js'
import { absentProblem, removalProblem } from '../api/context.js'
import { isProblem, parseBody, pathParameter, propertiesProblem, valueProblem } from '../api/parse.js'
import { accessOf } from '../keys/access.js'
import { importBytesWaitingMax, importLineBytesMax, importLinesWaitingMax } from '../limits.js'
import { nextSlice } from '../store/slices.js'
import type { Operation, TopicStore } from '../store/store.js'
import { parsePath } from '../topics/path.js'
import type { TopicType } from '../topics/topic.js'
import { watchDisk } from './disk.js'
import { splitLines } from './lines.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'

export interface ImportOptions {
  /** The first line that is imported, from 1; those before it are only counted. */
  readonly fromLine: number
  /** Whether lines of API keys are imported too, or left out. */
  readonly withKeys: boolean
}

/** The last line of an import's answer. */
export interface ImportedLine {
  readonly imported: Imported
}

export interface Imported {
  readonly topics: number
  /** How many of them were not there before. */
  readonly created: number
  readonly keys: number
  readonly keysLeftOut: number
}

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

/** Whoever may run this may do everything. */
const everything = accessOf({ name: 'import', tokenHash: '', allow: ['fetch', 'set', 'add', 'remove'], under: [], madeMs: 0 })

/** Why a line can not be imported, in words that follow its number. */
class WrongLine extends Error {}

type Counts = { -readonly [Name in keyof Imported]: Imported[Name] }

export const importTool: Tool = async (store, options, io) => {
  const { fromLine, withKeys } = options as ImportOptions
  const report = createReport(io)
  const disk = io.directory === undefined ? undefined : await watchDisk(io.directory, io.diskFreeBytesMin)
  const counts: Counts = { topics: 0, created: 0, keys: 0, keysLeftOut: 0 }
  const waiting = createWaiting()
  let number = 0
  let bytesRead = 0
  try {
    for await (const line of splitLines(io.input, importLineBytesMax)) {
      number++
      bytesRead += line.length + 1
      if (number < fromLine || line.length === 0) continue
      if (disk?.nearlyFull()) throw new WrongLine('The disk is nearly full.')
      waiting.add(number, line.length, importLine(store, line, withKeys, counts))
      if (waiting.failed() || waiting.full()) await waiting.room()
      if (waiting.failed()) break
      report('importing', bytesRead)
      if (number % linesPerTurn === 0) await nextSlice()
    }
  } catch (error) {
    waiting.fail(error instanceof WrongLine ? number : number + 1, error as Error)
  } finally {
    disk?.close()
  }
  await waiting.end()
  if (fromLine > 1 && number < fromLine) throw new Error(`--from-line is ${fromLine}, and the input has ${number} lines`)
  await io.emit(JSON.stringify({ imported: counts } satisfies ImportedLine))
}

/** Lines between two turns of the event loop, if nothing else gives one. */
const linesPerTurn = 100

/** Parses a line, which is not used after the call, and begins its write; rejects with what is wrong with it. */
async function importLine(store: TopicStore, line: Uint8Array, withKeys: boolean, counts: Counts): Promise<void> {
  if (keyPrefix.equals(line.subarray(0, keyPrefix.length))) {
    if (withKeys) await importKey(store, line)
    if (withKeys) counts.keys++
    else counts.keysLeftOut++
    return
  }
  if (await importTopic(store, line)) counts.created++
  counts.topics++
}

/** Whether the topic was not there before. */
async function importTopic(store: TopicStore, line: Uint8Array): Promise<boolean> {
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
  const creation = { path, type, properties }
  if (valueText === undefined) {
    if ((await store.add(creation)) === 'created') return true
    const present = await store.readTopic(path, type)
    if (typeof present === 'string') throw new WrongLine(absentProblem(present, path, type).message)
    return false
  }
  const outcome = await store.addAndSet(creation, valueText)
  switch (outcome) {
    case 'created':
      return true
    case 'updated':
      return false
    case 'incompatible_type':
      throw new WrongLine(absentProblem(outcome, path, type).message)
    case 'incompatible_properties':
      throw new WrongLine(`There is a topic at the path "${path}" already, with other properties.`)
  }
}

async function importKey(store: TopicStore, line: Uint8Array): Promise<void> {
  const parsed = parseBody(line, keyLineShape)
  if (isProblem(parsed)) throw new WrongLine(wordsOf(parsed))
  const { key } = parsed.body
  const under = key.under.map((text) => {
    const path = parsePath(text)
    if (typeof path !== 'string') throw new WrongLine(`A subtree of the key ${path.problem}.`)
    return path
  })
  await store.restoreKey({ ...key, under })
}

/** A problem of a request's body, in words for a line. */
function wordsOf({ message }: { readonly message: string }): string {
  return message.replace(/^The request body/, 'It')
}

/** The lines whose writes are under way, and the first of them that failed. */
function createWaiting() {
  let lines = 0
  let bytes = 0
  let first: { readonly number: number; readonly error: Error } | undefined
  let wake = (): void => {}

  function fail(number: number, error: Error): void {
    if (first === undefined || number < first.number) first = { number, error }
  }

  const full = (): boolean => lines >= importLinesWaitingMax || bytes >= importBytesWaitingMax

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => (wake = resolve))
  }

  return {
    fail,
    full,
    failed: () => first !== undefined,
    add(number: number, lineBytes: number, written: Promise<void>): void {
      lines++
      bytes += lineBytes
      void written
        .catch((error: Error) => fail(number, error))
        .then(() => {
          lines--
          bytes -= lineBytes
          wake()
        })
    },
    /** Resolves when another line may begin. */
    room: () => until(() => !full()),
    /** Resolves when every write has come back; rejects when one failed. */
    async end(): Promise<void> {
      await until(() => lines === 0)
      if (first === undefined) return
      const { number, error } = first
      throw new Error(`line ${number}: ${error.message} Every line before it has been imported; go on with --from-line ${number}.`)
    },
  }
}
