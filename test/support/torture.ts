/**
 * Kills a service over and over, under load: workers one after another, some of them during a rolling restart, then the
 * primary, then the same again with a new service on the same data. Beside it run batches with their readers, and the
 * commands of an operator. The caller checks the data afterwards against the answers that the load received.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { BoardReaders } from './board-readers.js'
import { BoardWriters } from './boards.js'
import type { Figures } from './figures.js'
import type { Target } from './follow.js'
import { Load } from './load.js'
import { seededRandom } from './random.js'
import { type Server, startServer, until } from './server.js'
import { ToolsBeside } from './tools-beside.js'

export interface TortureOptions {
  readonly seconds: number
  /** The main.js of another build. */
  readonly program?: string
  /** The store's address; lmdb by default. */
  readonly store?: string
  /** Ends the torture early. */
  readonly enough?: (load: Load) => boolean
}

export interface Tortured {
  readonly load: Load
  readonly workersKilled: number
  readonly primariesKilled: number
  readonly rollingRestarts: number
  /** Parts of batches that readers saw, and commands that failed beside a living service. */
  readonly faults: readonly string[]
  readonly figures: Figures
  /** The last service, which still runs. */
  readonly server: Server
}

/**
 * Without as many acknowledged writes a torture shows nothing; on a machine that is too busy for them, it takes longer.
 */
const writesPerSecondMin = 10

const workers = 3
const connections = 24
const topics = 20
const boards = 2
const boardReaders = 6

export async function torture(
  t: Test,
  { seconds, program, store, enough = () => false }: TortureOptions,
): Promise<Tortured> {
  const random = seededRandom(t)
  const directory = t.testdir()
  const dataDir = join(directory, 'db')
  let running: Server | undefined
  let token: string | undefined
  const target = (): Target | undefined => running
  const load = new Load({ connections, topics, random, target })
  const boardWriters = new BoardWriters(boards, target)
  const readers = new BoardReaders(boardWriters)
  const tools = new ToolsBeside({ random, directory: join(directory, 'tools'), store, server: () => running })
  let endMs = Infinity
  const isOver = (): boolean =>
    (performance.now() > endMs && load.acknowledged > writesPerSecondMin * seconds) || enough(load)
  let workersKilled = 0
  let primariesKilled = 0
  let rollingRestarts = 0

  async function start(): Promise<Server> {
    const server = await startServer(t, { workers, dataDir, token, program, store, exitCode: undefined, check: false })
    token = server.token
    running = server
    return server
  }

  async function killWorkers(server: Server): Promise<void> {
    // Fewer than the failed starts in a row after which a service gives up.
    for (let left = 2 + random.below(6); left > 0 && !isOver(); left--) {
      await new Promise((resolve) => setTimeout(resolve, 50 + random.below(600)))
      const pids = server.workerPids()
      if (pids.length === 0) continue
      process.kill(random.pick(pids), 'SIGKILL')
      workersKilled++
    }
  }

  let server = await start()
  // The first start does not count: it takes long on a busy machine.
  endMs = performance.now() + seconds * 1000
  load.start()
  boardWriters.start()
  readers.start(Array.from({ length: boardReaders }, () => target))
  tools.start()
  while (!isOver()) {
    if (random.oneIn(2)) {
      server.signal('SIGHUP')
      rollingRestarts++
    }
    await killWorkers(server)
    if (isOver()) break
    process.kill(server.pid, 'SIGKILL')
    primariesKilled++
    running = undefined
    await server.exited
    server = await start()
  }
  const [refusals] = await Promise.all([boardWriters.end(), load.stop(), readers.stop(), tools.stop()])
  // The last kills may have left no worker for a moment.
  await until('all workers serve again', async () => (await fetch(`${server.adminUrl}/readyz`)).ok || undefined)
  await load.readAll(server.client)
  const figures = {
    kills: workersKilled + primariesKilled,
    primaries: primariesKilled,
    rollingRestarts,
    acknowledged: load.acknowledged,
    reads: load.reads,
    batches: boardWriters.acknowledged,
    pages: readers.pages,
    commands: tools.done,
    slowestMsMax: Math.round(load.slowest.ms),
  }
  t.comment(
    `${load.conflicts} conflicts, ${load.unanswered} without an answer, ` +
      `refused ${JSON.stringify(Object.fromEntries(load.refused))}, ` +
      `slowest answer ${load.slowest.ms.toFixed(0)} ms (${load.slowest.route})`,
  )
  const faults = [...readers.faults, ...refusals, ...tools.faults]
  return { load, workersKilled, primariesKilled, rollingRestarts, faults, figures, server }
}
