/**
 * The tool behind `topicd import`: turns the lines of an export, or any like them, into topics and API keys.
 *
 * Lines are imported in batches, each of distinct topics: parse → read those that exist from the store → write the
 * whole batch at once → wait until it is durable. So lines for one path take effect in order, and nothing after the
 * first wrong line is stored: parsing stops at a line that is wrong by itself, and a line that does not fit an existing
 * topic is found before its batch is written. A line can fail later only if a client changes its topic in the meantime,
 * or the disk is nearly full.
 *
 * That an export was cut off is known only at its end, after its lines have been imported: the import then fails all the
 * same. For a plain file, the command looks before it begins.
 *
 * Writes use the store's own operations: existing topics are treated as by addAndSet and add, and importing the same
 * lines again changes nothing.
 */
import { absentProblem } from '../api/context.js'
import { Cancelled } from '../base/cancellation.js'
import { waitForSlice } from '../base/time-slices.js'
import { importLineBytesMax } from '../settings/limits.js'
import type { KeyChanger } from '../store/api-keys.js'
import { onlyOutcome } from '../store/core/write/batch.js'
import { storedForms, type TopicReader, type TopicWalker, type TopicWriter } from '../store/topics.js'
import { compatible } from '../topics/properties.js'
import { mergeRanges, topicRange } from '../topics/range.js'
import { ExportEnd, unfinished, unfinishedAdvice } from './export-end.js'
import { type ImportedTopic, type ImportLine, isEndLine, parseImportLine, WrongLine } from './import-line.js'
import { LineTooLong, splitLines } from './lines.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'
import type { Imported, ImportedLine, ImportOptions } from './tool-messages.js'

/** Lines of an import whose writes are in flight: enough to fill the commits. */
const importLinesWaitingMax = 2000

/** The bytes of those lines. */
const importBytesWaitingMax = 32 * 1024 * 1024

type Counts = { -readonly [Name in keyof Imported]: Imported[Name] }

/** What it needs of a store. */
type ImportStore = TopicReader & TopicWalker & TopicWriter & Pick<KeyChanger, 'restoreKey'>

/** A parsed line and where it is. */
interface NumberedLine {
  readonly number: number
  readonly line: Exclude<ImportLine, { kind: 'end' }>
}

/** A line that does not fit an existing topic. */
interface LineProblem {
  readonly number: number
  readonly error: WrongLine
}

/** Topics read together: enough to hide a network's latency, and few enough that their values fit in memory. */
const lookedUpTogetherMax = 32

/** A line that was not stored; all lines before it were. */
class LineFailed extends Error {
  constructor(number: number, { message }: Error) {
    const sentence = message.endsWith('.') ? message : `${message}.`
    super(`line ${number}: ${sentence} Every line before it has been imported; continue with --from-line ${number}.`)
  }
}

export const importTool: Tool<ImportOptions, ImportStore> = async (
  store,
  { fromLine, withKeys, allowUnfinished = false },
  io,
) => {
  const report = createReport(io)
  const counts: Counts = { topics: 0, created: 0, keys: 0, keysLeftOut: 0 }
  const batch = new Batch(store, counts)
  const end = new ExportEnd()
  let number = 0
  let bytesRead = 0
  try {
    for await (const bytes of splitLines(io.input, importLineBytesMax)) {
      number++
      bytesRead += bytes.length + 1
      if (bytes.length === 0) continue
      if (number < fromLine) {
        if (isEndLine(bytes)) end.end(undefined)
        else end.count()
        continue
      }
      const line = parseImportLine(bytes)
      if (line.kind === 'end') {
        end.end(allowUnfinished ? undefined : line.lines)
        continue
      }
      end.count()
      if (line.kind === 'key' && !withKeys) {
        counts.keysLeftOut++
        continue
      }
      if (!batch.add({ number, line }, bytes.length)) {
        await batch.write()
        batch.add({ number, line }, bytes.length)
      }
      if (io.signal.aborted) throw new Cancelled()
      report('importing', bytesRead)
      if (number % linesPerTurn === 0) await waitForSlice()
    }
    await batch.write()
  } catch (error) {
    throw await explain(error as Error, batch, number, io.signal)
  }
  if (fromLine > 1 && number < fromLine)
    throw new Error(`--from-line is ${fromLine}, and the input has ${number} lines`)
  if (!end.isEnded && !allowUnfinished) {
    throw new Error(`the input ${unfinished}: all of its ${number} lines have been imported; ${unfinishedAdvice}`)
  }
  await io.emit(JSON.stringify({ imported: counts } satisfies ImportedLine))
}

/**
 * The error of an import that ended early; every line before the one that it names has been stored. Lines before a
 * wrong one are written first. If the import was stopped, lines that were not written yet are left out.
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

/** The most lines between two waits for a slice of the event loop. */
const linesPerTurn = 100

/** Lines that are written together, none of them for the same topic or key as another. */
class Batch {
  #lines = new Map<string, NumberedLine>()
  #bytes = 0

  constructor(
    private readonly store: ImportStore,
    private readonly counts: Counts,
  ) {}

  /** Adds a line; false, with nothing added, when the batch must be written first. */
  add(numbered: NumberedLine, bytes: number): boolean {
    const { line } = numbered
    const name = line.kind === 'topic' ? `topic ${line.path}` : `key ${line.record.name}`
    const isFull = this.#lines.size >= importLinesWaitingMax || this.#bytes >= importBytesWaitingMax
    if (isFull || this.#lines.has(name)) return false
    this.#lines.set(name, numbered)
    this.#bytes += bytes
    return true
  }

  /** The number of the first line that waits to be written. */
  get firstNumber(): number | undefined {
    const [first] = this.#lines.values()
    return first?.number
  }

  /**
   * Writes the lines up to the first that does not fit an existing topic; resolves when they are durable.
   *
   * @throws LineFailed for the first line that was not stored
   */
  async write(): Promise<void> {
    const lines = [...this.#lines.values()]
    const [first] = lines
    if (first === undefined) return
    this.#lines = new Map()
    this.#bytes = 0
    const problem = await this.#firstProblem(lines).catch((error: Error) => {
      throw new LineFailed(first.number, error)
    })
    const good = problem === undefined ? lines : lines.filter(({ number }) => number < problem.number)
    const failures = await Promise.all(good.map((numbered) => this.#writeLine(numbered)))
    for (const failure of failures) if (failure !== undefined) throw failure
    if (problem !== undefined) throw new LineFailed(problem.number, problem.error)
  }

  /** The first of the lines that does not fit an existing topic. */
  async #firstProblem(lines: readonly NumberedLine[]): Promise<LineProblem | undefined> {
    const topics = lines.flatMap(({ number, line }) => (line.kind === 'topic' ? [{ number, line }] : []))
    const problems: LineProblem[] = []
    const withProperties = new Map<string, { readonly number: number; readonly line: ImportedTopic }>()
    for (let from = 0; from < topics.length && problems.length === 0; from += lookedUpTogetherMax) {
      const some = topics.slice(from, from + lookedUpTogetherMax)
      const found = await Promise.all(some.map(({ line }) => this.store.readTopic(line.path, storedForms[line.type])))
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

  /** The lines whose properties differ from those of the existing topic; only lines with a value are compared. */
  async #otherProperties(
    topics: ReadonlyMap<string, { readonly number: number; readonly line: ImportedTopic }>,
  ): Promise<LineProblem[]> {
    if (topics.size === 0) return []
    const ranges = mergeRanges([...topics.values()].map(({ line }) => topicRange(line.path)))
    const problems: LineProblem[] = []
    for await (const { path, properties } of this.store.walk({ ranges, matcher: undefined }, { aborted: false })) {
      const topic = topics.get(path)
      if (topic === undefined || compatible(properties, topic.line.properties)) continue
      problems.push({ number: topic.number, error: new WrongLine(otherProperties(path)) })
    }
    return problems
  }

  /** Resolves to the reason when the line could not be stored. */
  async #writeLine({ number, line }: NumberedLine): Promise<LineFailed | undefined> {
    try {
      if (line.kind === 'key') {
        await this.store.restoreKey(line.record)
        this.counts.keys++
      } else {
        if (await writeTopic(this.store, line)) this.counts.created++
        this.counts.topics++
      }
      return undefined
    } catch (error) {
      return new LineFailed(number, error as Error)
    }
  }
}

function otherProperties(path: string): string {
  return `There is already a topic at the path "${path}", with other properties.`
}

/** Stores a topic; resolves to whether it is new. */
async function writeTopic(store: ImportStore, { valueText, ...creation }: ImportedTopic): Promise<boolean> {
  const { path, type } = creation
  const kind = valueText === undefined ? 'add' : 'addAndSet'
  const outcome = onlyOutcome(await store.write([{ ...creation, kind, valueText }]))
  if (outcome === 'present') {
    const present = await store.readTopic(path, storedForms[type])
    if (typeof present === 'string') throw new WrongLine(absentProblem(present, path, type).message)
  }
  if (outcome === 'incompatible_type') throw new WrongLine(absentProblem(outcome, path, type).message)
  if (outcome === 'incompatible_properties') throw new WrongLine(otherProperties(path))
  return outcome === 'created'
}
