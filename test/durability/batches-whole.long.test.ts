/**
 * Nobody ever sees a part of a batch: not a reader on any worker, not the next start after a SIGKILL of every process,
 * and not the next start after a power cut. The control, a build that commits each batch in two halves, must be caught
 * each time. TORTURE_SECONDS=60 and POWER_CUTS=20 run longer.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BoardWriters, halvedBatches } from '../support/boards.js'
import type { Target } from '../support/follow.js'
import { patchedProgram } from '../support/patched.js'
import { makeDisk, whyNoPowerCuts } from '../support/power.js'
import { watchBoards } from '../support/board-readers.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/server.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 6)
const cuts = Number(process.env.POWER_CUTS ?? 2)
const workers = 3
const boards = 4
const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]

/** Batches acknowledged before each cut, at least. */
const batchesMin = 30

t.setTimeout((seconds * 3 + cuts * 20 + 300) * 1000)

const halved = patchedProgram(join(t.testdir(), 'halved'), halvedBatches.module, halvedBatches.replacement)

t.test('readers on all workers see whole batches', async (t) => {
  const server = await startServer(t, { workers })
  const { faults, pages, batches } = await watchBoards(server, [server], { seconds })
  t.strictSame(faults, [], `${pages} pages beside ${batches} batches`)
  t.ok(pages > 50 && batches > 10, 'there was load')
})

t.test('readers beside batches in two halves see parts', async (t) => {
  const server = await startServer(t, { workers, program: halved })
  const { faults, pages, batches } = await watchBoards(server, [server], { seconds: 60, untilFault: true })
  t.not(faults.length, 0, `${pages} pages beside ${batches} batches`)
})

/** What is wrong after so many SIGKILLs of all processes, or until something is. */
async function killOften(t: Test, times: number, program?: string): Promise<readonly string[]> {
  const random = seededRandom(t)
  const dataDir = join(t.testdir(), 'db')
  let target: Target | undefined
  let token: string | undefined
  const start = async (): Promise<Server> => {
    const server = await startServer(t, { workers, dataDir, token, program, exitCode: undefined, check: false })
    token = server.token
    target = server
    return server
  }
  let server = await start()
  const writers = new BoardWriters(boards, () => target)
  writers.start()
  const faults: string[] = []
  let killed = 0
  while (killed < times && faults.length === 0) {
    const before = writers.acknowledged
    await until('more batches', async () => writers.acknowledged > before + batchesMin || undefined)
    await new Promise((resolve) => setTimeout(resolve, random.below(100)))
    const pids = server.workerPids()
    process.kill(server.pid, 'SIGKILL')
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    killed++
    target = undefined
    await server.exited
    await writers.pause()
    server = await startServer(t, { workers, dataDir, token, program, exitCode: undefined, check: false })
    for (const board of writers.boards) {
      const fault = await board.faultAfterCut(server.client)
      if (fault !== undefined) faults.push(fault)
    }
    target = server
  }
  target = undefined
  await writers.stop()
  await server.stop()
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
  t.comment(`${writers.acknowledged} batches acknowledged, ${killed} times everything killed`)
  return faults
}
