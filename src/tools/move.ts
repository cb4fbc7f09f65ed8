/**
 * The tool behind `topicd copy` and `topicd rename`: an export of a subtree, with other paths, that is imported while it is
 * written. So both tools are given a store whose paths, or writes, are changed; neither knows of the other.
 *
 * Nothing that exists at the new path is replaced unless that is asked for. A rename creates each topic and removes the old one
 * in one step, and only if its value is still the one that is created: so it can be run again after it was interrupted.
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
    const target = { readTopic: notFound, restoreKey: async () => {}, write: this.#write }
    const exporting = exportTool(
      source,
      { selector: undefined, withKeys: false },
      { ...this.io, emit: withoutProgress(send) },
    )
      .then(() => void lines.end())
      // Also if nobody reads the lines any more, for a reason of its own.
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
    return new Error(error instanceof Unmovable ? done : `${done}, and the same command continues`)
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
      this.counts.topics += await (removes || overwrites ? this.#replace(operations) : this.#create(operations))
      this.#report(removes ? 'renaming' : 'copying', this.counts.topics, this.#total)
    } catch (error) {
      this.#error ??= error as Error
      throw error
    }
    return operations.map(() => 'updated')
  }

  /** Those that are there already, as after an interruption, stay as they are. @returns how many are there now */
  async #create(operations: readonly WriteOperation[]): Promise<number> {
    const guarded = operations.map((operation) => ({ ...operation, constraint: noTopic }))
    const results = await this.store.write(guarded, false)
    for (const [index, operation] of operations.entries()) {
      const result = 'refusal' in results ? results.refusal : results[index]
      if (result !== 'created' && !(await this.#isThere(operation))) throw occupied(operation)
    }
    return operations.length
  }

  /** Leaves those whose old topics have changed since they were read. @returns how many are replaced */
  async #replace(operations: readonly WriteOperation[]): Promise<number> {
    const steps = operations.map((operation) => this.#stepsOf(operation))
    const result = await this.store.write(steps.flat())
    if (!('refusal' in result)) return operations.length
    // One by one, since any number may be refused.
    const results = await Promise.all(steps.map((own) => this.store.write(own)))
    let replaced = 0
    for (const [index, own] of results.entries()) {
      if (!('refusal' in own)) replaced++
      else if (this.options.removes && own.index === (steps[index]?.length ?? 0) - 1) this.counts.changed++
      else throw occupied(operations[index] as WriteOperation)
    }
    return replaced
  }

  /** In one commit: a topic that exists there goes, the topic is created, and a rename removes the old one. */
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

/** The import need not look for topics of the other type: each write does. */
const notFound = () => 'no_such_topic' as const

/** What the same command would meet again. */
class Unmovable extends Error {}

const noTopic = { kind: 'no_topic' } as const

const lineFeed = Buffer.from('\n')

const nothing = Buffer.alloc(0)

function occupied({ path }: WriteOperation): Unmovable {
  return new Unmovable(`there is already another topic at "${path}", which --overwrite would replace`)
}

/** @param rest empty, or what follows in a path, with its slash @throws Error for a path that is too long */
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

/** Rejects also if the stream is destroyed, after which it calls back no more. */
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
