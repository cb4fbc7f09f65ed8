/**
 * The tool behind `topicd copy` and `topicd rename`: an export of a subtree, with other paths, that is imported while it is
 * written. So both tools are given a store whose paths, or writes, are changed; neither knows of the other.
 *
 * Nothing that exists at the new path is overwritten unless that is asked for. A rename creates each topic and removes the old one
 * in one step, and only if its value is still the one that is created: so it can be run again after it was interrupted.
 */
import { PassThrough } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { Plan } from '../selectors/plan.js'
import type { TopicStore } from '../store/store.js'
import type { BatchResult, WholeTopic, WriteOperation, WriteOutcome, WriteRefusal } from '../store/topics.js'
import { type Path, parsePath } from '../topics/path.js'
import { subtreeRange, topicRange } from '../topics/range.js'
import { exportTool } from './export.js'
import { importTool } from './import.js'
import { createReport, progressPrefix } from './progress.js'
import type { Tool, ToolIo } from './tool.js'
import type { Moved, MovedLine, MoveOptions } from './tool-messages.js'

export const moveTool: Tool<MoveOptions> = async (store, options, io) => {
  const move = new Move(store, options, io)
  await move.run()
  await io.emit(JSON.stringify({ moved: move.counts } satisfies MovedLine))
}

class Move {
  readonly counts: { -readonly [Name in keyof Moved]: Moved[Name] } = { topics: 0, changed: 0 }
  readonly #report: ReturnType<typeof createReport>
  readonly #plan: Plan
  #total = 0
  /** The first error, in words for the user; what it causes elsewhere is not shown. */
  #error: Error | undefined

  constructor(
    private readonly store: TopicStore,
    private readonly options: MoveOptions,
    private readonly io: ToolIo,
  ) {
    this.#report = createReport(io)
    this.#plan = { ranges: [subtreeRange(pathBelow(options.from, ''))], matcher: undefined }
  }

  /** @throws Error with a message for the user, which says how far it has come */
  async run(): Promise<void> {
    const { from } = this.options
    const { signal } = this.io
    this.#total = await this.store.countMatches(this.#plan, 'any', signal)
    if (this.#total === 0) throw new Error(`there is no topic at "${from}" or below it`)
    const lines = new PassThrough()
    const send = (text: string | Uint8Array) => written(lines, Buffer.concat([Buffer.from(text), lineFeed]))
    const source = { readKeys: async () => [], stats: () => this.store.stats(), walk: () => this.#walk() }
    const target = { readTopic: noTopic, restoreKey: async () => {}, write: this.#write }
    const exporting = exportTool(
      source,
      { selector: undefined, withKeys: false },
      { ...this.io, emit: withoutProgress(send) },
    )
      .then(() => void lines.end())
      .catch((error: Error) => void lines.destroy((this.#error ??= error)))
    try {
      await importTool(target, { fromLine: 1, withKeys: false }, { ...this.io, input: lines, emit: async () => {} })
    } catch (error) {
      const { message } = signal.aborted ? (signal.reason as Error) : (this.#error ?? (error as Error))
      throw new Error(
        `${message}; ${this.counts.topics} of ${this.#total} topics are done, and the same command continues`,
      )
    } finally {
      lines.destroy()
      await exporting
    }
  }

  async *#walk(): AsyncGenerator<WholeTopic> {
    const { from, to } = this.options
    for await (const topic of this.store.walk(this.#plan, this.io.signal))
      yield { ...topic, path: pathBelow(to, topic.path.slice(from.length)) }
  }

  readonly #write = async (operations: readonly WriteOperation[]): Promise<BatchResult> => {
    try {
      this.counts.topics += await (this.options.removes ? this.#rename(operations) : this.#copy(operations))
    } catch (error) {
      this.#error ??= error as Error
      throw error
    }
    this.#report(this.options.removes ? 'renaming' : 'copying', this.counts.topics, this.#total)
    return operations.map(() => 'updated')
  }

  /** Those that are there already, as after an interruption, stay as they are. @returns how many are there now */
  async #copy(operations: readonly WriteOperation[]): Promise<number> {
    const results = await this.store.write(operations.map(this.#guarded), false)
    for (const [index, operation] of operations.entries()) {
      const result = 'refusal' in results ? results.refusal : results[index]
      if (isRefusal(result) && !(await this.#isThere(operation))) throw this.#occupied(operation)
    }
    return operations.length
  }

  /** Leaves those that have changed since they were read. @returns how many are renamed */
  async #rename(operations: readonly WriteOperation[]): Promise<number> {
    for (let rest = operations; ; ) {
      const result = await this.store.write(
        rest.flatMap((operation) => [this.#guarded(operation), this.#removal(operation)]),
      )
      if (!('refusal' in result)) return rest.length
      const refused = rest[Math.floor(result.index / 2)] as WriteOperation
      if (result.index % 2 === 0) throw this.#occupied(refused)
      this.counts.changed++
      rest = rest.filter((operation) => operation !== refused)
    }
  }

  readonly #guarded = (operation: WriteOperation): WriteOperation =>
    this.options.overwrites ? operation : { ...operation, constraint: { kind: 'no_topic' } }

  #removal({ path, valueText }: WriteOperation): WriteOperation {
    const { from, to } = this.options
    return {
      kind: 'remove',
      path: pathBelow(from, path.slice(to.length)),
      valueText: undefined,
      constraint: valueText === undefined ? { kind: 'no_value' } : { kind: 'value', text: valueText },
    }
  }

  async #isThere({ path, type, properties, valueText = nothing }: WriteOperation): Promise<boolean> {
    const plan = { ranges: [topicRange(path)], matcher: undefined }
    for await (const found of this.store.walk(plan, this.io.signal)) {
      const isSameValue = Buffer.compare(found.valueText ?? nothing, valueText) === 0
      return found.type === type && isSameValue && isDeepStrictEqual(found.properties, properties)
    }
    return false
  }

  #occupied({ path }: WriteOperation): Error {
    return new Error(
      this.options.overwrites
        ? `the topic at "${path}" has another type or other properties`
        : `there is already another topic at "${path}", whose value --overwrite would replace`,
    )
  }
}

/** The import need not look for topics of the other type: each write does. */
const noTopic = () => 'no_such_topic' as const

const lineFeed = Buffer.from('\n')

const nothing = Buffer.alloc(0)

function isRefusal(result: WriteOutcome | WriteRefusal | undefined): boolean {
  return result === 'unsatisfied_constraint' || result === 'incompatible_type' || result === 'incompatible_properties'
}

/** @param rest empty, or what follows in a path, with its slash @throws Error for a path that is too long */
function pathBelow(path: string, rest: string): Path {
  const whole = parsePath(path + rest)
  if (typeof whole !== 'string') throw new Error(`a path below "${path}" ${whole.problem}`)
  return whole
}

function withoutProgress(emit: ToolIo['emit']): ToolIo['emit'] {
  return async (text) => {
    if (typeof text !== 'string' || !text.startsWith(progressPrefix)) await emit(text)
  }
}

function written(stream: PassThrough, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => stream.write(bytes, (error) => (error ? reject(error) : resolve())))
}
