/**
 * Kills a service over and over, under load: workers one after another, then the primary, then the same again with a
 * new service on the same data. The caller checks the data afterwards against the answers that the load received.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Target } from './follow.js'
import { Load } from './load.js'
import { seededRandom } from './random.js'
import { type Server, startServer, until } from './server.js'

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

export async function torture(
  t: Test,
  { seconds, program, store, enough = () => false }: TortureOptions,
): Promise<Tortured> {
  const random = seededRandom(t)
  const dataDir = join(t.testdir(), 'db')
  let target: Target | undefined
  let token: string | undefined
  const load = new Load({ connections, topics, random, target: () => target })
  let endMs = Infinity
  const isOver = (): boolean =>
    (performance.now() > endMs && load.acknowledged > writesPerSecondMin * seconds) || enough(load)
  let workersKilled = 0
  let primariesKilled = 0

  async function start(): Promise<Server> {
    const server = await startServer(t, { workers, dataDir, token, program, store, exitCode: undefined, check: false })
    token = server.token
    target = { url: server.url, token }
    return server
  }

  let server = await start()
  // The first start does not count: it takes long on a busy machine.
  endMs = performance.now() + seconds * 1000
  load.start()
  while (!isOver()) {
    // Fewer than the failed starts in a row after which a service gives up.
    for (let left = 2 + random.below(6); left > 0 && !isOver(); left--) {
      await new Promise((resolve) => setTimeout(resolve, 50 + random.below(600)))
      const pids = server.workerPids()
      if (pids.length === 0) continue
      process.kill(random.pick(pids), 'SIGKILL')
      workersKilled++
    }
    if (isOver()) break
    process.kill(server.pid, 'SIGKILL')
    primariesKilled++
    target = undefined
    await server.exited
    server = await start()
  }
  await load.stop()
  // The last kills may have left no worker for a moment.
  await until('all workers serve again', async () => (await fetch(`${server.adminUrl}/readyz`)).ok || undefined)
  await load.readAll(server.client)
  t.comment(
    `${load.acknowledged} writes acknowledged, ${load.conflicts} conflicts, ${load.reads} reads, ` +
      `${load.unanswered} without an answer, ` +
      `refused ${JSON.stringify(Object.fromEntries(load.refused))}, ` +
      `${workersKilled} workers and ${primariesKilled} primaries killed, slowest answer ${load.slowest.ms.toFixed(0)} ms (${load.slowest.route})`,
  )
  return { load, workersKilled, primariesKilled, server }
}
