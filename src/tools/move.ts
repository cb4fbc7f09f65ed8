/**
 * The tool behind `topicd copy` and `topicd rename`: exports a subtree with new paths, and imports the lines while they are
 * written. The export tool gets a store with changed paths, the import tool one with changed writes; neither knows about the other.
 *
 * Existing topics at the new paths are replaced only on request. A rename creates each topic and removes the old one in one
 * step, and only if the old value has not changed, so it can be run again after an interruption.
 */
import { PassThrough } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { Plan } from '../selectors/plan.js'
import type { TopicStore } from '../store/store.js'
import type { BatchResult, WholeTopic, WriteOperation } from '../store/topics.js'
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
  /** The first error, worded for the user; errors that result from it are not shown. */
  #error: Error | undefined

  constructor(
    private readonly store: TopicStore,
    private readonly options: MoveOptions,
    private readonly io: ToolIo,
  ) {
    this.#report = createReport(io)
    this.#plan = { ranges: [subtreeRange(pathBelow(options.from, ''))], matcher: undefined }
  }

  /** @throws Error with a message for the user that includes the progress */
  async run(): Promise<void> {
    const { from } = this.options
    const { signal } = this.io
    this.#total = await this.store.countMatches(this.#plan, 'any', signal)
    if (this.#total === 0) throw new Error(`there is no topic at or below "${from}"`)
    const lines = new PassThrough()
    const send = (text: string | Uint8Array) => written(lines, Buffer.concat([Buffer.from(text), lineFeed]))
    const source = { readKeys: async () => [], stats: () => this.store.stats(), walk: () => this.#walk() }
    const target = { readTopic: notFound, restoreKey: async () => {}, write: this.#write }
    const exporting = exportTool(
      source,
      { selector: undefined, withKeys: false },
      { ...this.io, emit: withoutProgress(send) },
    )
      .then(() => void lines.end())
      // The export also fails if the import stops reading, for its own reason.
      .catch((error: Error) => void lines.destroy(error))
    try {
      await importTool(target, { fromLine: 1, withKeys: false }, { ...this.io, input: lines, emit: async () => {} })
    } catch (error) {
      throw this.#explain(signal.aborted ? (signal.reason as Error) : (this.#error ?? (error as Error)))
    } finally {
      lines.destroy()
      await exporting
    }
  }

  #explain(error: Error): Error {
    const done = `${error.message}; ${this.counts.topics} of ${this.#total} topics are done`
    return new Error(error instanceof Unmovable ? done : `${done}; run the same command again to continue`)
  }

  async *#walk(): AsyncGenerator<WholeTopic> {
    const { from, to } = this.options
    try {
      for await (const topic of this.store.walk(this.#plan, this.io.signal))
        yield { ...topic, path: pathBelow(to, topic.path.slice(from.length)) }
    } catch (error) {
      this.#error ??= error as Error
      throw error
    }
  }

  readonly #write = async (operations: readonly WriteOperation[]): Promise<BatchResult> => {
    try {
      if (this.io.signal.aborted) throw this.io.signal.reason
      const { removes, overwrites } = this.options
      await (removes || overwrites ? this.#replace(operations) : this.#create(operations))
      this.#report(removes ? 'renaming' : 'copying', this.counts.topics, this.#total)
    } catch (error) {
      this.#error ??= error as Error
      throw error
    }
    return operations.map(() => 'updated')
  }

  /** Topics that already exist after an interruption stay unchanged. Counts the topics that now exist, also before it throws. */
  async #create(operations: readonly WriteOperation[]): Promise<void> {
    const guarded = operations.map((operation) => ({ ...operation, constraint: noTopic }))
    const results = await this.store.write(guarded, false)
    let taken: WriteOperation | undefined
    for (const [index, operation] of operations.entries()) {
      const result = 'refusal' in results ? results.refusal : results[index]
      if (result === 'created' || (await this.#isThere(operation))) this.counts.topics++
      else taken ??= operation
    }
    if (taken !== undefined) throw occupied(taken)
  }

  /** Skips topics whose old topic changed after it was read. Counts the topics that were written, also before it throws. */
  async #replace(operations: readonly WriteOperation[]): Promise<void> {
    const steps = operations.map((operation) => this.#stepsOf(operation))
    const result = await this.store.write(steps.flat())
    if (!('refusal' in result)) return void (this.counts.topics += operations.length)
    // Separately, because any number of them may be rejected.
    const results = await Promise.all(steps.map((own) => this.store.write(own)))
    let taken: WriteOperation | undefined
    for (const [index, own] of results.entries()) {
      if (!('refusal' in own)) this.counts.topics++
      else if (this.options.removes && own.index === (steps[index]?.length ?? 0) - 1) this.counts.changed++
      else taken ??= operations[index]
    }
    if (taken !== undefined) throw occupied(taken)
  }

  /** The operations of one commit: remove an existing topic, create the new one and, in a rename, remove the old one. */
  #stepsOf(operation: WriteOperation): readonly WriteOperation[] {
    const { from, to, overwrites, removes } = this.options
    const { path, valueText } = operation
    const removal = { kind: 'remove', path, valueText: undefined } as const
    const old = pathBelow(from, path.slice(to.length))
    const unchanged =
      valueText === undefined ? ({ kind: 'no_value' } as const) : ({ kind: 'value', text: valueText } as const)
    return [
      ...(overwrites ? [removal, operation] : [{ ...operation, constraint: noTopic }]),
      ...(removes ? [{ ...removal, path: old, constraint: unchanged }] : []),
    ]
  }

  async #isThere({ path, type, properties, valueText = nothing }: WriteOperation): Promise<boolean> {
    const plan = { ranges: [topicRange(path)], matcher: undefined }
    for await (const found of this.store.walk(plan, this.io.signal)) {
      const isSameValue = Buffer.compare(found.valueText ?? nothing, valueText) === 0
      return found.type === type && isSameValue && isDeepStrictEqual(found.properties, properties)
    }
    return false
  }
}

/** The import need not look for topics of the other type because each write does. */
const notFound = () => 'no_such_topic' as const

/** An error that would recur if the same command were run again. */
class Unmovable extends Error {}

const noTopic = { kind: 'no_topic' } as const

const lineFeed = Buffer.from('\n')

const nothing = Buffer.alloc(0)

function occupied({ path }: WriteOperation): Unmovable {
  return new Unmovable(`another topic already exists at "${path}"; to replace it, use --overwrite`)
}

/** @param rest of the path, with its leading slash; may be empty @throws Error for a path that is too long */
function pathBelow(path: string, rest: string): Path {
  const whole = parsePath(path + rest)
  if (typeof whole !== 'string') throw new Unmovable(`a path below "${path}" ${whole.problem}`)
  return whole
}

function withoutProgress(emit: ToolIo['emit']): ToolIo['emit'] {
  return async (text) => {
    if (typeof text !== 'string' || !text.startsWith(progressPrefix)) await emit(text)
  }
}

/** Also rejects if the stream is destroyed: it then calls no callbacks. */
function written(stream: PassThrough, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error('the lines are no longer read'))
    stream.once('close', onClose)
    stream.write(bytes, (error) => {
      stream.off('close', onClose)
      if (error) reject(error)
      else resolve()
    })
  })
}
