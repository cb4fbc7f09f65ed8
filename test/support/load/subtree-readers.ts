/** Readers of subtrees that run alongside their writers: each page must show the state after one batch, no older than its request. */
import { type Server, until } from '../service/server.js'
import { follow, type Target } from './follow.js'
import { SubtreeWriters } from './uniform-subtrees.js'

/** Enough connections that some lead to a different worker than the subtree's writer uses. */
const readersEach = 12
const subtrees = 2

/** Fewer batches would prove nothing; on a busy machine they take longer. */
const batchesMin = 20
const batchesMsMax = 90_000

/** Readers that follow their services through restarts, until they are stopped or the first fault occurs. */
export class SubtreeReaders {
  readonly faults: string[] = []
  pages = 0
  readonly #writers: SubtreeWriters
  #loops: readonly Promise<void>[] = []
  #isStopping = false

  constructor(writers: SubtreeWriters) {
    this.#writers = writers
  }

  /** @param targets one per connection */
  start(targets: readonly (() => Target | undefined)[]): void {
    const isOver = (): boolean => this.#isStopping || this.faults.length > 0
    this.#loops = targets.map((target) =>
      follow({ target, connections: 1, isOver }, async (client) => {
        for (const subtree of this.#writers.subtrees) {
          const faults = await subtree.faultsNow(client)
          if (faults === undefined) return false
          this.faults.push(...faults)
          this.pages++
        }
        return true
      }),
    )
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }
}

export interface Watched {
  readonly faults: readonly string[]
  readonly pages: number
  readonly batches: number
}

/** Writes to one service and reads from all given services, for at least `secondsMin` or until the first fault. */
export async function watchSubtrees(writer: Server, read: readonly Server[], secondsMin: number): Promise<Watched> {
  const endMs = performance.now() + secondsMin * 1000
  const writers = new SubtreeWriters(subtrees, () => writer)
  const readers = new SubtreeReaders(writers)
  writers.start()
  readers.start(read.flatMap((server) => Array.from({ length: readersEach }, () => () => server)))
  const isOver = (): boolean =>
    (performance.now() > endMs && writers.acknowledged >= batchesMin) || readers.faults.length > 0
  await until('there are enough batches', async () => isOver() || undefined, secondsMin * 1000 + batchesMsMax)
  await readers.stop()
  const refused = await writers.end()
  return { faults: [...readers.faults, ...refused], pages: readers.pages, batches: writers.acknowledged }
}
