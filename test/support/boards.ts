/**
 * Boards: subtrees of a hundred topics that always have one number in common, since each is written by batches of one
 * client that set all of its topics to the batch's number. Every eighth batch removes the topics instead. So one page
 * of a board tells which batch was the last, or that it has only a part of one.
 */
import type { Client } from './client.js'
import { follow, type Target } from './follow.js'

const topics = 100
const removedEvery = 8

/** A copy of lmdb's engine in which a batch is committed in two halves; a module for `patchedProgram`. */
export const halvedBatches = {
  module: 'store/lmdb/batches.js',
  replacement: `import { Batches as SoundBatches } from './sound-batches.js'
export * from './sound-batches.js'

export class Batches extends SoundBatches {
  constructor(...parts) {
    super(...parts)
    const whole = this.write
    this.write = async (operations) => {
      const half = operations.length >> 1
      const first = await whole(operations.slice(0, half))
      const second = await whole(operations.slice(half))
      return [first, second].flat()
    }
  }
}
`,
} as const

/** Which batches, by their numbers, may have been the last. */
export interface Range {
  readonly from: number
  readonly to: number
}

export class Board {
  /** The last batch that was acknowledged, or found on disk. */
  acknowledged = 0
  /** The last batch that was sent. */
  sent = 0
  readonly #name: string

  constructor(name: string) {
    this.#name = name
  }

  /** Sends the next batch; false if no answer came. */
  async write(client: Client): Promise<boolean> {
    const number = ++this.sent
    const operations = Array.from({ length: topics }, (_, i) =>
      isRemoval(number)
        ? { op: 'remove', path: `boards/${this.#name}/${i}` }
        : { op: 'addAndSet', path: `boards/${this.#name}/${i}`, value: number },
    )
    let answer: { status: number; text: string }
    try {
      answer = await client.post('batch', { operations })
    } catch {
      return false
    }
    if (answer.status !== 200) throw new Error(`a batch was answered ${answer.status}: ${answer.text}`)
    this.acknowledged = number
    return true
  }

  /** Reads the board in one page. @throws when there is no answer */
  async read(client: Client): Promise<readonly number[]> {
    const { status, text } = await client.post('fetch', { selector: `*boards/${this.#name}//`, size: topics })
    if (status !== 200) throw new Error(`a page was answered ${status}: ${text}`)
    return (JSON.parse(text) as { results: { value: number }[] }).results.map(({ value }) => value)
  }

  /** What is wrong with a page; undefined if one of these batches left it, as a whole. */
  fault(page: readonly number[], { from, to }: Range): string | undefined {
    const [number] = page
    const numbers = [...new Set(page)]
    const name = `board ${this.#name}`
    if (number === undefined) {
      // The board is empty before its first batch too.
      const removal = to - (to % removedEvery)
      return removal >= from ? undefined : `${name} is empty after batches ${from} to ${to}`
    }
    if (page.length !== topics || numbers.length > 1) {
      return `${name} has ${page.length} topics with the numbers ${numbers} after batches ${from} to ${to}`
    }
    if (number < from || number > to) return `${name} has the number ${number} after batches ${from} to ${to}`
    return undefined
  }
}

/** Writers of boards, one for each, that follow a service through its deaths. */
export class BoardWriters {
  readonly boards: readonly Board[]
  readonly #target: () => Target | undefined
  readonly #loops: Promise<void>[] = []
  #isStopping = false

  constructor(count: number, target: () => Target | undefined) {
    this.boards = Array.from({ length: count }, (_, i) => new Board(String(i)))
    this.#target = target
  }

  get acknowledged(): number {
    return this.boards.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  }

  start(): void {
    const isOver = (): boolean => this.#isStopping
    for (const board of this.boards)
      this.#loops.push(follow({ target: this.#target, connections: 1, isOver }, (client) => board.write(client)))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }
}

function isRemoval(number: number): boolean {
  return number % removedEvery === 0
}
