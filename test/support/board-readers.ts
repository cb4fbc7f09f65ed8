/** Readers of boards beside their writers: each page must be what one batch left, and not older than its request. */
import { BoardWriters } from './boards.js'
import type { Client } from './client.js'
import type { Server } from './server.js'

/** So many connections that some of them lead to other workers than a board's writer. */
const readers = 12
const boards = 2

/** Fewer batches would show nothing; on a busy machine they take longer. */
const batchesMin = 20

export interface Watched {
  readonly faults: readonly string[]
  readonly pages: number
  readonly batches: number
}

/** Writes to one service and reads from all of these, for so long, or until the first fault. */
export async function watchBoards(writer: Server, read: readonly Server[], secondsMin: number): Promise<Watched> {
  const endMs = performance.now() + secondsMin * 1000
  const faults: string[] = []
  let pages = 0
  const writers = new BoardWriters(boards, () => writer)
  const isOver = (): boolean => (performance.now() > endMs && writers.acknowledged >= batchesMin) || faults.length > 0

  async function watch(client: Client): Promise<void> {
    while (!isOver()) {
      for (const board of writers.boards) {
        const from = board.acknowledged
        const page = await board.read(client)
        faults.push(...board.faults(page, { from, to: board.sent }))
        pages++
      }
    }
  }

  writers.start()
  const clients = read.flatMap((server) => Array.from({ length: readers }, () => server.connect()))
  await Promise.all(clients.map(watch))
  await writers.stop()
  return { faults, pages, batches: writers.acknowledged }
}
