/**
 * Kills a service over and over, under load: workers one after another, some of them during a rolling restart, then the
 * primary, then the same again with a new service on the same data. Beside it run batches with their readers, removals
 * by selector, and the commands of an operator. The caller checks the data afterwards against the answers that the load
 * received.
 */
import { join } from 'node:path'
import type { Test } from 'tap'
import { BoardReaders } from './board-readers.js'
import { BoardWriters } from './boards.js'
import type { Figures } from './figures.js'
import { follow, type Target } from './follow.js'
import { GroupWriter } from './groups.js'
import { Load } from './load.js'
import { randomFrom, seededRandom } from './random.js'
import type { Server } from './server.js'
import { startServer, until } from './server.js'
import { ToolsBeside } from './tools-beside.js'
import { Victim } from './victim.js'

export interface TortureOptions {
  readonly seconds: number
  /** The main.js of another build. */
  readonly program?: string
  /** The store's address; lmdb by default. */
  readonly store?: string
  /** Ends the torture early. */
  readonly enough?: (load: Load) => boolean
  /** How many topics never change; 20,000 by default. They are added in batches of a thousand. */
  readonly constantTopics?: number
}

export interface Tortured {
  readonly load: Load
  readonly workersKilled: number
  readonly primariesKilled: number
  /** Parts of batches, refusals, and commands that failed although nothing had died. */
  readonly faults: readonly string[]
  readonly figures: Figures
  /** The last service, which still runs. */
  readonly server: Server
}

/**
 * Without as many acknowledged writes, and without a kill of each kind, a torture shows nothing; on a machine that is
 * too busy for them, it takes longer.
 */
const writesPerSecondMin = 10

const workers = 3
const connections = 24
const topics = 20
const boards = 2
const boardReaders = 6

/** Where topics are that never change, so that exports and backups take some time. */
const constantUnder = 'constant'

/** How many operations a batch may have. */
const batchMax = 1000

async function addConstant({ client }: Server, count: number): Promise<void> {
  for (let first = 0; first < count; first += batchMax) {
    const operations = Array.from({ length: batchMax }, (_, i) => ({
      op: 'addAndSet',
      path: `${constantUnder}/${first + i}`,
      value: `topic ${first + i}`,
    }))
    const { status, text } = await client.post('batch', { operations })
    if (status !== 200) throw new Error(`a batch was answered ${status}: ${text}`)
  }
}

/** Removals by selector, which take many commits, beside the kills. */
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

  /** Compares the groups that a service has with what it answered, once the last of them was sent. */
  async figures(server: Server): Promise<Figures> {
    await this.#loop
    const stages = this.#writer.stages()
    const { faults, whole, absent, halfRemoved } = await this.#writer.found(server.client, stages, stages)
    this.faults.push(...faults)
    return { groups: this.#writer.acknowledged, whole, absent, halfRemoved }
  }
}

/** What the boards have in the end that no batch left there. */
async function faultsOf({ boards }: BoardWriters, server: Server): Promise<readonly string[]> {
  const faults: string[] = []
  for (const board of boards) {
    const range = { from: board.acknowledged, to: board.sent }
    faults.push(...board.faults(await board.read(server.client), range))
  }
  return faults
}

export async function torture(
  t: Test,
  { seconds, program, store, enough = () => false, constantTopics = 20_000 }: TortureOptions,
): Promise<Tortured> {
  const { seed } = seededRandom(t)
  const directory = t.testdir()
  const options = { workers, dataDir: join(directory, 'db'), program, store, exitCode: undefined, check: false }
  const victim = new Victim((token) => startServer(t, { ...options, token }))
  const target = (): Target | undefined => victim.running
  const onAnswer = (): void => victim.silence.answered()
  const load = new Load({ connections, topics, random: randomFrom(seed), target, onAnswer })
  const boardWriters = new BoardWriters(boards, target)
  const readers = new BoardReaders(boardWriters)
  const tools = new ToolsBeside({
    random: randomFrom((seed + connections) >>> 0),
    directory: join(directory, 'tools'),
    store,
    server: target as () => Server | undefined,
    kills: () => victim.workersKilled + victim.primariesKilled,
    isWhole: () => victim.isWhole,
    constant: { under: constantUnder, count: constantTopics },
    boards: boardWriters.boards,
  })
  await victim.start()
  await addConstant(victim.service, constantTopics)
  // The first start does not count: it takes long on a busy machine.
  const endMs = performance.now() + seconds * 1000
  const hasShown = (): boolean =>
    load.acknowledged > writesPerSecondMin * seconds && victim.workersKilled > 0 && victim.primariesKilled > 0
  const isOver = (): boolean => (performance.now() > endMs && hasShown()) || enough(load)
  load.start()
  boardWriters.start()
  readers.start(Array.from({ length: boardReaders }, () => target))
  const groups = new Groups(target, isOver)
  tools.start()
  // What PostgreSQL was told to do it may still do after the death of who told it.
  const onDeath = store === undefined ? () => load.died() : () => {}
  await victim.killUntil(isOver, randomFrom((seed + connections + 1) >>> 0), onDeath)
  const [refusals] = await Promise.all([boardWriters.end(), load.stop(), readers.stop(), tools.stop()])
  const server = victim.service
  // The last kills may have left no worker for a moment.
  await until('all workers serve again', async () => (await fetch(`${server.adminUrl}/readyz`)).ok || undefined)
  await load.readAll(server.client)
  const ofGroups = await groups.figures(server)
  const parts = [...readers.faults, ...(await faultsOf(boardWriters, server)), ...groups.faults]
  const faults = [...parts, ...refusals, ...tools.faults]
  const { done } = tools
  const figures = {
    ...victim.figures(),
    acknowledged: load.acknowledged,
    unanswered: load.unanswered,
    conflicts: load.conflicts,
    reads: load.reads,
    refused: load.refused.size + refusals.length,
    batches: boardWriters.acknowledged,
    pages: readers.pages,
    parts: parts.length,
    ...ofGroups,
    ...done,
    excusedCommands: tools.excused,
    wrongCommands: tools.faults.length,
    slowestMsMax: Math.round(load.slowest.ms),
  }
  const { workersKilled, primariesKilled } = victim
  return { load, workersKilled, primariesKilled, faults, figures, server }
}
