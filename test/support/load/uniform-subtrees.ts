/**
 * Uniform subtrees: subtrees of a hundred topics that always have one number in common, since each is written by batches of one
 * client that set all of its topics to the batch's number. Every eighth batch removes the topics instead. So one page
 * of a subtree tells which batch was the last, or that it has only a part of one.
 */
import type { Client } from '../service/client.js'
import { follow, type Target } from './follow.js'

const topics = 100
const removedEvery = 8

/** A function that makes two commits of each batch. */
const halving = `function halving(whole) {
  return async (operations) => {
    // Their texts are views into the request, which are gone by the second half.
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

/** For `patchedProgram`, in place of a worker's module that sends the writer what is to be written. */
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

/** Which batches, by their numbers, may have been the last. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** A page that was answered, but not with a 200. */
class Refused extends Error {}

export class UniformSubtree {
  /** The last batch that was acknowledged, or found on disk. */
  acknowledged = 0
  /** The last batch that was sent. */
  sent = 0
  /** How many batches were answered 200. */
  answered = 0
  /** How many pages showed a batch that was not answered, after a later one. */
  latePages = 0
  /** What its topics are under. */
  readonly path: string
  /**
   * Batches to the service of now that were not answered. Each may still be carried out, also after a later one: the
   * worker that had sent it to the writer was killed, and the writer took the later one from another worker first.
   */
  readonly #unanswered = new Set<number>()
  #client: Client | undefined

  constructor(name: string) {
    this.path = `subtrees/${name}`
  }

  /** Sends the next batch; false if no answer came. @throws when it is refused */
  async write(client: Client): Promise<boolean> {
    const number = ++this.sent
    // Nothing of a former service lives any more.
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
    if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status}: ${answer.text}`)
    this.acknowledged = number
    this.answered++
    return true
  }

  /**
   * Reads the subtree in one page, which is of one range, and so of one moment.
   *
   * @throws Refused; and the connection's error when there is no answer
   */
  async read(client: Client): Promise<readonly number[]> {
    const { status, text } = await client.post('fetch', { selector: `*${this.path}//`, size: topics })
    if (status !== 200) throw new Refused(`a page was answered ${status}: ${text}`)
    return (JSON.parse(text) as { results: { value: number }[] }).results.map(({ value }) => value)
  }

  /** What is wrong with a page that is read now; undefined if no answer came. @throws Refused */
  async faultsNow(client: Client): Promise<readonly string[] | undefined> {
    const from = this.acknowledged
    try {
      return this.faults(await this.read(client), { from, to: this.sent })
    } catch (error) {
      if (error instanceof Refused) throw error
      return undefined
    }
  }

  /** What is wrong with a page; nothing if one of these batches left it, or one that was not answered, as a whole. */
  faults(page: readonly number[], { from, to }: Range): readonly string[] {
    const [number] = page
    const after = `after batches ${from} to ${to}`
    if (number === undefined) {
      // Also before its first batch a subtree is empty.
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

/** Writers of subtrees, one for each, that follow a service through its deaths. */
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

  /** How many batches were answered 200. */
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

  /** Resolves once those in flight have ended. @returns the refusals */
  async end(): Promise<readonly string[]> {
    this.#isStopping = true
    await Promise.all(this.#loops)
    return this.#refused
  }
}

function isRemoval(number: number): boolean {
  return number % removedEvery === 0
}
