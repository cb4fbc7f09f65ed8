/**
 * The tool behind `topicd import`: the lines of an export, or any like them, become topics and API keys.
 *
 * Lines are taken in batches, each of distinct topics: parse → see what the store has of them → write all of the batch at
 * once → wait until it is durable. So lines of one path take effect in their order, and nothing behind the first wrong line
 * is stored: parsing stops at a line that is wrong by itself, and a line that does not fit the topic that is there is found
 * before its batch is written. Only a client that changes such a topic in just that moment can make a line fail afterwards.
 *
 * Writes go through the store's own operations, so what is there already is treated as addAndSet and add treat it, and
 * importing the same lines again changes nothing.
 */
import type { tags } from 'typia'
import { absentProblem } from '../api/context.js'
import { importBytesWaitingMax, importLineBytesMax, importLinesWaitingMax } from '../limits.js'
import { type DiskWatch, watchDisk } from '../ops/free-space.js'
import type { TopicStore } from '../store/store.js'
import { waitForSlice } from '../store/time-slices.js'
import { compatible } from '../topics/properties.js'
import { mergeRanges, topicRange } from '../topics/range.js'
import { type ImportedTopic, type ImportLine, parseImportLine, WrongLine } from './import-line.js'
import { LineTooLong, splitLines } from './lines.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'

export interface ImportOptions {
  /** The first line that is imported, from 1; those before it are only counted. */
  readonly fromLine: number & tags.Type<'uint64'> & tags.Minimum<1>
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

type Counts = { -readonly [Name in keyof Imported]: Imported[Name] }

/** A parsed line and where it is. */
interface NumberedLine {
  readonly number: number
  readonly line: ImportLine
}

/** A line that does not fit what is there. */
interface LineProblem {
  readonly number: number
  readonly error: WrongLine
}

/** Topics looked up together: enough for a store at some distance, and few enough to hold their values. */
const lookedUpTogetherMax = 32

/** The lines up to here are good, and stored; this one is not. */
class LineFailed extends Error {
  constructor(number: number, { message }: Error) {
    const sentence = message.endsWith('.') ? message : `${message}.`
    super(`line ${number}: ${sentence} Every line before it has been imported; go on with --from-line ${number}.`)
  }
}

export const importTool: Tool = async (store, options, io) => {
  const { fromLine, withKeys } = options as ImportOptions
  const report = createReport(io)
  const disk = io.directory === undefined ? undefined : await watchDisk(io.directory, io.diskFreeBytesMin)
  const counts: Counts = { topics: 0, created: 0, keys: 0, keysLeftOut: 0 }
  const batch = new Batch(store, counts, disk)
  let number = 0
  let bytesRead = 0
  try {
    for await (const bytes of splitLines(io.input, importLineBytesMax)) {
      number++
      bytesRead += bytes.length + 1
      if (number < fromLine || bytes.length === 0) continue
      const line = parseImportLine(bytes)
      if (line.kind === 'key' && !withKeys) {
        counts.keysLeftOut++
        continue
      }
      if (!batch.add({ number, line }, bytes.length)) {
        await batch.write()
        batch.add({ number, line }, bytes.length)
      }
      report('importing', bytesRead)
      if (number % linesPerTurn === 0) await waitForSlice()
    }
    await batch.write()
  } catch (error) {
    throw await explain(error as Error, batch, number, io.signal)
  } finally {
    disk?.close()
  }
  if (fromLine > 1 && number < fromLine)
    throw new Error(`--from-line is ${fromLine}, and the input has ${number} lines`)
  await io.emit(JSON.stringify({ imported: counts } satisfies ImportedLine))
}

/**
 * What to say of an import that ended early, with every line before the one that it names stored. The lines before one that
 * is wrong are written first; those that an import which was stopped has not written are left.
 *
 * @param number the last line that was read whole
 */
async function explain(error: Error, batch: Batch, number: number, signal: AbortSignal): Promise<Error> {
  if (error instanceof LineFailed) return error
  const failedAt = error instanceof WrongLine ? number : number + 1
  if (error instanceof WrongLine || error instanceof LineTooLong) {
    return batch.write().then(
      () => new LineFailed(failedAt, error),
      (earlier: Error) => earlier,
    )
  }
  const reason = signal.aborted ? new Error(`the import was stopped, since ${(signal.reason as Error).message}`) : error
  return new LineFailed(batch.firstNumber ?? failedAt, reason)
}

/** Lines between two turns of the event loop, if nothing else gives one. */
const linesPerTurn = 100

/** Lines that are written together, none of them for the same topic or key as another. */
class Batch {
  readonly #store: TopicStore
  readonly #counts: Counts
  readonly #disk: DiskWatch | undefined
  #lines = new Map<string, NumberedLine>()
  #bytes = 0

  constructor(store: TopicStore, counts: Counts, disk: DiskWatch | undefined) {
    this.#store = store
    this.#counts = counts
    this.#disk = disk
  }

  /** False, and nothing is added, when the line has to wait until the batch is written. */
  add(numbered: NumberedLine, bytes: number): boolean {
    const { line } = numbered
    const name = line.kind === 'topic' ? `topic ${line.path}` : `key ${line.record.name}`
    const isFull = this.#lines.size >= importLinesWaitingMax || this.#bytes >= importBytesWaitingMax
    if (isFull || this.#lines.has(name)) return false
    this.#lines.set(name, numbered)
    this.#bytes += bytes
    return true
  }

  /** The first line that waits to be written. */
  get firstNumber(): number | undefined {
    const [first] = this.#lines.values()
    return first?.number
  }

  /**
   * Writes the lines, up to the first that does not fit what is there; resolves when they are durable.
   *
   * @throws LineFailed for the first line that was not stored
   */
  async write(): Promise<void> {
    const lines = [...this.#lines.values()]
    this.#lines = new Map()
    this.#bytes = 0
    if (lines.length === 0) return
    const first = lines[0].number
    if (this.#disk?.isNearlyFull()) throw new LineFailed(first, new WrongLine('The disk is nearly full.'))
    const problem = await this.#firstProblem(lines).catch((error: Error) => {
      throw new LineFailed(first, error)
    })
    const good = problem === undefined ? lines : lines.filter(({ number }) => number < problem.number)
    const written = await Promise.allSettled(good.map(({ line }) => this.#writeLine(line)))
    const failed = written.findIndex(({ status }) => status === 'rejected')
    if (failed >= 0)
      throw new LineFailed(good[failed].number, (written[failed] as PromiseRejectedResult).reason as Error)
    if (problem !== undefined) throw new LineFailed(problem.number, problem.error)
  }

  /** The first of the lines whose topic is there already and is another one. */
  async #firstProblem(lines: readonly NumberedLine[]): Promise<LineProblem | undefined> {
    const topics = lines.flatMap(({ number, line }) => (line.kind === 'topic' ? [{ number, line }] : []))
    const problems: LineProblem[] = []
    const withProperties = new Map<string, { readonly number: number; readonly line: ImportedTopic }>()
    for (let from = 0; from < topics.length && problems.length === 0; from += lookedUpTogetherMax) {
      const some = topics.slice(from, from + lookedUpTogetherMax)
      const found = await Promise.all(some.map(({ line: { path, type } }) => this.#store.readTopic(path, type)))
      for (const [i, topic] of some.entries()) {
        const { path, type, valueText, properties } = topic.line
        const present = found[i]
        if (present === 'incompatible_type') {
          problems.push({ number: topic.number, error: new WrongLine(absentProblem(present, path, type).message) })
        } else if (present !== 'no_such_topic' && valueText !== undefined && Object.keys(properties).length > 0) {
          withProperties.set(path, topic)
        }
      }
    }
    problems.push(...(await this.#otherProperties(withProperties)))
    return problems.sort((a, b) => a.number - b.number).at(0)
  }

  /** Those of the lines that ask for other properties than the topic has; a line without a value asks for none. */
  async #otherProperties(
    topics: ReadonlyMap<string, { readonly number: number; readonly line: ImportedTopic }>,
  ): Promise<LineProblem[]> {
    if (topics.size === 0) return []
    const ranges = mergeRanges([...topics.values()].map(({ line }) => topicRange(line.path)))
    const problems: LineProblem[] = []
    for await (const { path, properties } of this.#store.walk({ ranges, matcher: undefined }, { cancelled: false })) {
      const topic = topics.get(path)
      if (topic === undefined || compatible(properties, topic.line.properties)) continue
      problems.push({ number: topic.number, error: new WrongLine(otherProperties(path)) })
    }
    return problems
  }

  async #writeLine(line: ImportLine): Promise<void> {
    if (line.kind === 'key') {
      await this.#store.restoreKey(line.record)
      this.#counts.keys++
      return
    }
    if (await writeTopic(this.#store, line)) this.#counts.created++
    this.#counts.topics++
  }
}

function otherProperties(path: string): string {
  return `There is a topic at the path "${path}" already, with other properties.`
}

/** Whether the topic was not there before. */
async function writeTopic(store: TopicStore, { valueText, ...creation }: ImportedTopic): Promise<boolean> {
  const { path, type } = creation
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
      throw new WrongLine(otherProperties(path))
  }
}
