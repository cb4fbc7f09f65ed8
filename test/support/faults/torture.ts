/**
 * Kills a service repeatedly, under load: workers in turn, sometimes during a rolling restart, then the primary, then the same with a new
 * service on the same data. In parallel, batches with their readers, removals by selector, and an operator's commands run. Afterwards the
 * caller checks the data against the responses that the load received.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { follow, type Target } from '../load/follow.js'
import { Load } from '../load/load.js'
import { SubtreeReaders } from '../load/subtree-readers.js'
import { ToolsBeside } from '../load/tools-beside.js'
import { GroupWriter } from '../load/topic-groups.js'
import { SubtreeWriters } from '../load/uniform-subtrees.js'
import type { Results } from '../proof-results.js'
import { randomFrom, seededRandom } from '../random.js'
import type { Server } from '../service/server.js'
import { startServer, until } from '../service/server.js'
import { KilledService } from './killed-service.js'

interface TortureOptions {
  readonly seconds: number
  /** The main.js of another build. */
  readonly program?: string
  /** The store's address; lmdb if not given. */
  readonly store?: string
}

export interface Tortured {
  readonly load: Load
  readonly workersKilled: number
  readonly primariesKilled: number
  /** Partial batches, rejections, and commands that failed although no process had died. */
  readonly faults: readonly string[]
  readonly results: Results
  /** The last service, which is still running. */
  readonly server: Server
}

/**
 * The minimum of acknowledged writes. With fewer, or without a kill of each kind, a run proves nothing, so it takes longer on a busy
 * machine.
 */
const writesPerSecondMin = 10

const workers = 3
const connections = 24
const topics = 20
const subtrees = 2
const subtreeReaders = 6

/** Topics that never change, so that exports and backups take a while. */
const constant = { under: 'constant', count: 20_000 }

/** Maximum operations per batch. */
const batchMax = 1000

async function addConstant({ client }: Server): Promise<void> {
  for (let first = 0; first < constant.count; first += batchMax) {
    const operations = Array.from({ length: batchMax }, (_, i) => ({
      op: 'addAndSet',
      path: `${constant.under}/${first + i}`,
      value: `topic ${first + i}`,
    }))
    const { status, text } = await client.post('batch', { operations })
    if (status !== 200) throw new Error(`a batch returned ${status}: ${text}`)
  }
}

/** Removals by selector, which take many commits, during the kills. */
class Groups {
  readonly faults: string[] = []
  readonly #writer = new GroupWriter('killed')
  readonly #loop: Promise<void>

  constructor(target: () => Target | undefined, isOver: () => boolean) {
    this.#loop = follow({ target, connections: 1, isOver }, (client) =>
      this.#writer.write(client).catch((error: Error) => {
        this.faults.push(error.message)
        return false
      }),
    )
  }

  /** Compares the groups in a service with its responses, after the last group was sent. */
  async results(server: Server): Promise<Results> {
    await this.#loop
    const stages = this.#writer.stages()
    const { faults, whole, absent, halfRemoved } = await this.#writer.found(server.client, stages, stages)
    this.faults.push(...faults)
    return { groups: this.#writer.acknowledged, whole, absent, halfRemoved }
  }
}

/** Values in the subtrees that no batch can have left there. */
async function faultsOf({ subtrees }: SubtreeWriters, server: Server): Promise<readonly string[]> {
  const faults: string[] = []
  for (const subtree of subtrees) {
    const range = { from: subtree.acknowledged, to: subtree.sent }
    faults.push(...subtree.faults(await subtree.read(server.client), range))
  }
  return faults
}

export async function torture(t: Test, { seconds, program, store }: TortureOptions): Promise<Tortured> {
  const { seed } = seededRandom(t)
  const directory = t.testdir()
  const options = { workers, dataDir: join(directory, 'db'), program, store, exitCode: undefined, check: false }
  const killedService = new KilledService((token) => startServer(t, { ...options, token }))
  const target = (): Target | undefined => killedService.running
  const onAnswer = (): void => killedService.silence.answered()
  const load = new Load({ connections, topics, random: randomFrom(seed), target, onAnswer })
  const subtreeWriters = new SubtreeWriters(subtrees, target)
  const readers = new SubtreeReaders(subtreeWriters)
  const tools = new ToolsBeside({
    random: randomFrom((seed + connections) >>> 0),
    directory: join(directory, 'tools'),
    store,
    server: target as () => Server | undefined,
    kills: () => killedService.workersKilled + killedService.writersKilled + killedService.primariesKilled,
    isWhole: () => killedService.isWhole,
    constant,
    subtrees: subtreeWriters.subtrees,
  })
  await killedService.start()
  await addConstant(killedService.service)
  // The first start does not count: it takes long on a busy machine.
  const endMs = performance.now() + seconds * 1000
  const hasShown = (): boolean =>
    load.acknowledged > writesPerSecondMin * seconds &&
    killedService.workersKilled > 0 &&
    killedService.primariesKilled > 0
  let hasFailed = false
  const isOver = (): boolean => hasFailed || (performance.now() > endMs && hasShown())
  load.start()
  subtreeWriters.start()
  readers.start(Array.from({ length: subtreeReaders }, () => target))
  const groups = new Groups(target, isOver)
  tools.start()
  // PostgreSQL may still execute a statement after the process that sent it has died.
  const onDeath = store === undefined ? () => load.died() : () => {}
  const stop = () => Promise.all([subtreeWriters.end(), load.stop(), readers.stop(), tools.stop()])
  await killedService.killUntil(isOver, randomFrom((seed + connections + 1) >>> 0), onDeath).catch(async (error) => {
    // The cause may be a primary that did not start: the load would wait for it until the file's time limit.
    hasFailed = true
    await stop()
    throw error
  })
  const [refusals] = await stop()
  const server = killedService.service
  // After the last kills there may briefly be no worker.
  await until('all workers serve again', async () => (await fetch(`${server.adminUrl}/readyz`)).ok || undefined)
  await load.readAll(server.client)
  const ofGroups = await groups.results(server)
  const parts = [...readers.faults, ...(await faultsOf(subtreeWriters, server)), ...groups.faults]
  const faults = [...parts, ...refusals, ...tools.faults, ...load.versionFaults()]
  const { done } = tools
  const results = {
    ...killedService.results(),
    acknowledged: load.acknowledged,
    unanswered: load.unanswered,
    conflicts: load.conflicts,
    reads: load.reads,
    refused: load.refused.size + refusals.length,
    batches: subtreeWriters.acknowledged,
    pages: readers.pages,
    parts: parts.length,
    latePages: subtreeWriters.subtrees.reduce((sum, { latePages }) => sum + latePages, 0),
    ...ofGroups,
    ...done,
    excusedCommands: tools.excused,
    wrongCommands: tools.faults.length,
    slowestMsMax: Math.round(load.slowest.ms),
  }
  const { workersKilled, primariesKilled } = killedService
  return { load, workersKilled, primariesKilled, faults, results, server }
}
