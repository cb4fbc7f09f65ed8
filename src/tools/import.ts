/**
 * The tool behind `topicd import`: turns the lines of an export, or similar lines, into topics and API keys.
 *
 * Lines are imported in order, in batches of distinct topics and keys: parse → write → wait until the batch is durable. Consecutive
 * topics are written atomically, so no topic after the first wrong line is stored. Parsing stops at an invalid line; if the store
 * rejects a line, the lines before it are written without it.
 *
 * A truncated export is detected only at its end, after its lines were imported; the import then still fails. For a
 * plain file, the command checks the end before it starts the tool.
 *
 * Existing topics are treated as addAndSet and add treat them. Importing the same lines again changes nothing.
 */
import { absentProblem } from '../api/context.js'
import { Cancelled } from '../base/cancellation.js'
import { waitForSlice } from '../base/time-slices.js'
import { importLineBytesMax } from '../settings/limits.js'
import type { KeyChanger } from '../store/api-keys.js'
import {
  type RefusedOperation,
  storedForms,
  type TopicReader,
  type TopicWriter,
  type WriteOperation,
  type WriteRefusal,
} from '../store/topics.js'
import { ExportEnd, unfinished, unfinishedAdvice } from './export-end.js'
import {
  type ImportedKey,
  type ImportedTopic,
  type ImportLine,
  isEndLine,
  parseImportLine,
  WrongLine,
} from './import-line.js'
import { LineTooLong, splitLines } from './lines.js'
import { createReport } from './progress.js'
import type { Tool } from './tool.js'
import type { Imported, ImportedLine, ImportOptions } from './tool-messages.js'

/** Maximum lines of a batch: few enough that other writers do not wait long for its commit. */
const batchLinesMax = 1000

const batchBytesMax = 8 * 1024 * 1024

type Counts = { -readonly [Name in keyof Imported]: Imported[Name] }

type ImportStore = Pick<TopicReader, 'readTopic'> & TopicWriter & Pick<KeyChanger, 'restoreKey'>

interface NumberedLine {
  readonly number: number
  readonly line: Exclude<ImportLine, { kind: 'end' }>
}

/** Topics read concurrently: enough to hide the latency of a network. */
const readTogetherMax = 32

/** A line that was not stored; all earlier lines were. */
class LineFailed extends Error {
  constructor(number: number, { message }: Error) {
    const sentence = message.endsWith('.') ? message : `${message}.`
    super(`line ${number}: ${sentence} All earlier lines were imported; continue with --from-line ${number}.`)
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
      if (!batch.hasRoomFor(line)) await batch.write()
      batch.add({ number, line }, bytes.length)
      if (io.signal.aborted) throw new Cancelled()
      report('importing', bytesRead)
      if (number % linesPerTurn === 0) await waitForSlice()
    }
    await batch.write()
  } catch (error) {
    throw await explain(error as Error, batch, number, io.signal)
  }
  if (fromLine > 1 && number < fromLine)
    throw new Error(`--from-line is ${fromLine}, but the input has only ${number} lines`)
  if (!end.isEnded && !allowUnfinished) {
    throw new Error(`the input ${unfinished}: all of its ${number} lines were imported; ${unfinishedAdvice}`)
  }
  await io.emit(JSON.stringify({ imported: counts } satisfies ImportedLine))
}

/**
 * The error of an import that ended early. It names a line, and all earlier lines are stored: the pending lines before a
 * wrong line are written first. If the import was stopped, the named line is the first pending one.
 *
 * @param number of the last line that was read completely
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
  const reason = signal.aborted
    ? new Error(`the import was stopped because ${(signal.reason as Error).message}`)
    : error
  return new LineFailed(batch.firstNumber ?? failedAt, reason)
}

/** Maximum lines between two waits for a slice of the event loop. */
const linesPerTurn = 100

class Batch {
  #lines: NumberedLine[] = []
  #bytes = 0
  /** Names of the batch's topics and keys; each is in only one line. */
  readonly #names = new Set<string>()

  constructor(
    private readonly store: ImportStore,
    private readonly counts: Counts,
  ) {}

  hasRoomFor(line: NumberedLine['line']): boolean {
    return this.#lines.length < batchLinesMax && this.#bytes < batchBytesMax && !this.#names.has(nameOf(line))
  }

  add(numbered: NumberedLine, bytes: number): void {
    const { line } = numbered
    this.#lines.push(numbered)
    this.#bytes += bytes
    this.#names.add(nameOf(line))
  }

  /** The number of the first pending line. */
  get firstNumber(): number | undefined {
    return this.#lines[0]?.number
  }

  /** Resolves once all lines are durable. @throws LineFailed for the first line that was not stored */
  async write(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    this.#bytes = 0
    this.#names.clear()
    for (let start = 0; start < lines.length; ) {
      const { kind } = (lines[start] as NumberedLine).line
      const otherAt = lines.findIndex(({ line }, at) => at > start && line.kind !== kind)
      const end = otherAt < 0 ? lines.length : otherAt
      await (kind === 'key' ? this.#writeKeys(lines.slice(start, end)) : this.#writeTopics(lines.slice(start, end)))
      start = end
    }
  }

  async #writeKeys(lines: readonly NumberedLine[]): Promise<void> {
    const failures = await Promise.all(
      lines.map(({ number, line }) =>
        this.store.restoreKey((line as ImportedKey).record).then(
          () => void this.counts.keys++,
          (error: Error) => new LineFailed(number, error),
        ),
      ),
    )
    for (const failure of failures) if (failure !== undefined) throw failure
  }

  async #writeTopics(lines: readonly NumberedLine[]): Promise<void> {
    const topics = lines.map(({ line }) => line as ImportedTopic)
    const wrong = await this.#writeAll(topics).catch((error: Error) => {
      throw new LineFailed((lines[0] as NumberedLine).number, error)
    })
    if (wrong === undefined) return
    if (wrong.index > 0) await this.#writeTopics(lines.slice(0, wrong.index))
    const { number, line } = lines[wrong.index] as NumberedLine
    throw new LineFailed(number, wrongTopic(wrong.refusal, line as ImportedTopic))
  }

  /**
   * Writes all topics, or returns the first one that cannot be written: the store rejects it, or it has no value and the
   * existing topic has the other type.
   */
  async #writeAll(topics: readonly ImportedTopic[]): Promise<RefusedOperation | undefined> {
    const bare = [...topics.entries()].filter(([, { valueText }]) => valueText === undefined)
    for (let from = 0; from < bare.length; from += readTogetherMax) {
      const some = bare.slice(from, from + readTogetherMax)
      const found = await Promise.all(some.map(([, { path, type }]) => this.store.readTopic(path, storedForms[type])))
      const wrongAt = found.indexOf('incompatible_type')
      if (wrongAt >= 0) return { index: (some[wrongAt] as (typeof some)[number])[0], refusal: 'incompatible_type' }
    }
    const result = await this.store.write(topics.map(operationOf))
    if ('refusal' in result) return result
    this.counts.created += result.filter((outcome) => outcome === 'created').length
    this.counts.topics += topics.length
    return undefined
  }
}

function nameOf(line: NumberedLine['line']): string {
  return line.kind === 'topic' ? `topic ${line.path}` : `key ${line.record.name}`
}

function operationOf({ kind: _, valueText, ...creation }: ImportedTopic): WriteOperation {
  return { ...creation, kind: valueText === undefined ? 'add' : 'addAndSet', valueText }
}

function wrongTopic(refusal: WriteRefusal, { path, type }: ImportedTopic): WrongLine {
  if (refusal === 'incompatible_properties')
    return new WrongLine(`A topic with other properties already exists at the path "${path}".`)
  if (refusal === 'no_such_topic' || refusal === 'incompatible_type')
    return new WrongLine(absentProblem(refusal, path, type).message)
  throw new Error(`an import was rejected: ${refusal}`)
}
