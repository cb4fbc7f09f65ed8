/**
 * Uniform subtrees: subtrees of 100 topics that all have the same number as their value, because one client's batches set all of them to
 * the batch's number. Every eighth batch removes the topics instead. A single page of a subtree therefore identifies the last batch, or
 * reveals a partial one.
 */
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

const topics = 100
const removedEvery = 8

/** The source of a function that splits each batch into two commits. */
const halving = `function halving(whole) {
  return async (operations) => {
    // The values are views into the request, which is gone by the second half.
    const copied = operations.map((operation) => ({
      ...operation,
      valueText: operation.valueText && Buffer.from(operation.valueText),
    }))
    const half = copied.length >> 1
    if (half === 0) return whole(operations)
    const first = await whole(copied.slice(0, half))
    const second = await whole(copied.slice(half))
    return [first, second].flat()
  }
}
`

/** For `patchedProgram`: a replacement for the worker's module that sends writes to the writer. */
export const halvedWrites = `${halving}
import { WriterLink as SoundLink } from './sound-link.js'
export * from './sound-link.js'

export class WriterLink extends SoundLink {
  constructor(...parts) {
    super(...parts)
    this.write = halving(this.write)
  }
}
`

/** The numbers of the batches that may have been the last. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Thrown if the response to a page's request is not a 200. */
class Refused extends Error {}

export class UniformSubtree {
  /** The last batch that was acknowledged, or found on disk. */
  acknowledged = 0
  /** The last batch that was sent. */
  sent = 0
  /** Number of batches that returned 200. */
  answered = 0
  /** Number of pages that showed an unacknowledged batch after a later one. */
  latePages = 0
  /** The parent of the topics. */
  readonly path: string
  /**
   * Batches to the current service without a response. Each may still be executed, even after a later one, if the worker that had forwarded
   * it was killed: the writer may have received the later one from another worker first.
   */
  readonly #unanswered = new Set<number>()
  #client: Client | undefined

  constructor(name: string) {
    this.path = `subtrees/${name}`
  }

  /** Sends the next batch; returns false without a response. @throws Error if it is rejected */
  async write(client: Client): Promise<boolean> {
    const number = ++this.sent
    // No process of an earlier service is alive.
    if (client !== this.#client) this.#unanswered.clear()
    this.#client = client
    const operations = Array.from({ length: topics }, (_, i) =>
      isRemoval(number)
        ? { op: 'remove', path: `${this.path}/${i}` }
        : { op: 'addAndSet', path: `${this.path}/${i}`, value: number },
    )
    let answer: { status: number; text: string }
    try {
      answer = await client.post('batch', { operations })
    } catch {
      this.#unanswered.add(number)
      return false
    }
    if (answer.status !== 200) throw new Error(`a batch returned ${answer.status}: ${answer.text}`)
    this.acknowledged = number
    this.answered++
    return true
  }

  /**
   * Reads the subtree in one page, which is one range and therefore one snapshot.
   *
   * @throws Refused; and the connection's error if there is no response
   */
  async read(client: Client): Promise<readonly number[]> {
    const { status, text } = await client.post('fetch', { selector: `*${this.path}//`, size: topics })
    if (status !== 200) throw new Refused(`a page returned ${status}: ${text}`)
    return (JSON.parse(text) as { results: { value: number }[] }).results.map(({ value }) => value)
  }

  /** The faults of a page that is read now; undefined without a response. @throws Refused */
  async faultsNow(client: Client): Promise<readonly string[] | undefined> {
    const from = this.acknowledged
    try {
      return this.faults(await this.read(client), { from, to: this.sent })
    } catch (error) {
      if (error instanceof Refused) throw error
      return undefined
    }
  }

  /** The faults of a page; empty if it shows exactly one of these batches, or one without a response. */
  faults(page: readonly number[], { from, to }: Range): readonly string[] {
    const [number] = page
    const after = `after batches ${from} to ${to}`
    if (number === undefined) {
      // A subtree is also empty before its first batch.
      const lastRemoval = to - (to % removedEvery)
      const mayBeEmpty = lastRemoval >= from || [...this.#unanswered].some(isRemoval)
      return mayBeEmpty ? [] : [`${this.path} is empty ${after}`]
    }
    const numbers = [...new Set(page)]
    const isLate = number < from && this.#unanswered.has(number)
    if (isLate) this.latePages++
    if (page.length === topics && numbers.length === 1 && (isLate || (number >= from && number <= to))) return []
    return [`${this.path} has ${page.length} topics with the numbers ${numbers} ${after}`]
  }
}

/** Writers that each write one subtree and follow a service through restarts. */
export class SubtreeWriters {
  readonly subtrees: readonly UniformSubtree[]
  readonly #target: () => Target | undefined
  readonly #loops: Promise<void>[] = []
  readonly #refused: string[] = []
  #isStopping = false

  constructor(count: number, target: () => Target | undefined) {
    this.subtrees = Array.from({ length: count }, (_, i) => new UniformSubtree(String(i)))
    this.#target = target
  }

  /** Number of batches that returned 200. */
  get acknowledged(): number {
    return this.subtrees.reduce((sum, { answered }) => sum + answered, 0)
  }

  start(): void {
    const isOver = (): boolean => this.#isStopping
    const write = (subtree: UniformSubtree, client: Client): Promise<boolean> =>
      subtree.write(client).catch((error: Error) => {
        this.#refused.push(error.message)
        return false
      })
    for (const subtree of this.subtrees)
      this.#loops.push(follow({ target: this.#target, connections: 1, isOver }, (client) => write(subtree, client)))
  }

  /** Resolves when all batches in flight have ended. @returns the rejections */
  async end(): Promise<readonly string[]> {
    this.#isStopping = true
    await Promise.all(this.#loops)
    return this.#refused
  }
}

function isRemoval(number: number): boolean {
  return number % removedEvery === 0
}
