/**
 * Nobody ever sees a part of a batch: not a reader on any worker, not the next start after a SIGKILL of every process,
 * and not the next start after a power cut. The control, a build that commits each batch in two halves, must be caught
 * each time. TORTURE_SECONDS=60 and POWER_CUTS=20 run longer.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at } from '../support/elements.js'
import { patchedProgram } from '../support/faults/patched.js'
import { makeDisk, whyNoPowerCuts } from '../support/faults/power.js'
import type { Target } from '../support/load/follow.js'
import { watchSubtrees } from '../support/load/subtree-readers.js'
import { halvedWrites, SubtreeWriters } from '../support/load/uniform-subtrees.js'
import { childrenOf } from '../support/machines/processes.js'
import { seededRandom } from '../support/random.js'
import { startServer } from '../support/service/server.js'

const seconds = Number(process.env.TORTURE_SECONDS ?? 6)
const cuts = Number(process.env.POWER_CUTS ?? 2)
const workers = 3
const subtrees = 4
const kills = seconds
const flags = ['--disk-free-bytes-min', String(64 * 1024 * 1024)]

/** Batches acknowledged before each cut, at least. */
const batchesMin = 30

t.setTimeout((seconds * 10 + cuts * 20 + 300) * 1000)

const halved = patchedProgram(join(t.testdir(), 'halved'), 'store/lmdb/write/link.js', halvedWrites)

t.test('readers on all workers see whole batches', async (t) => {
  const server = await startServer(t, { workers })
  const { faults, pages, batches } = await watchSubtrees(server, [server], seconds)
  t.strictSame(faults, [], `${pages} pages beside ${batches} batches`)
  t.ok(pages > 50, 'there was load')
})

t.test('readers beside batches in two halves see parts', async (t) => {
  const server = await startServer(t, { workers, program: halved })
  const { faults, pages, batches } = await watchSubtrees(server, [server], 60)
  t.not(faults.length, 0, `${pages} pages beside ${batches} batches`)
})

/** What is wrong after so many SIGKILLs of every process, or until something is. */
async function killOften(t: Test, times: number, program?: string): Promise<readonly string[]> {
  const random = seededRandom(t)
  const options = { workers, dataDir: join(t.testdir(), 'db'), program, exitCode: undefined, check: false }
  let server = await startServer(t, options)
  const { token } = server
  let target: Target | undefined = server
  const writers = new SubtreeWriters(subtrees, () => target)
  writers.start()
  const faults: string[] = []
  let killed = 0
  while (killed < times && faults.length === 0) {
    await writers.more(batchesMin)
    await new Promise((resolve) => setTimeout(resolve, random.below(50)))
    for (const pid of [server.pid, ...childrenOf(server.pid)]) process.kill(pid, 'SIGKILL')
    killed++
    target = undefined
    await server.exited
    server = await startServer(t, { ...options, token })
    for (const subtree of writers.subtrees) faults.push(...(await subtree.faultsAfterDeath(server.client)))
    target = server
  }
  target = undefined
  await writers.stop()
  await server.stop()
  const check = await server.command('check')
  t.equal(check.code, 0, `the store is sound: ${check.stdout}`)
  t.comment(`${writers.acknowledged} batches acknowledged, everything killed ${killed} times`)
  return faults
}

t.test('a SIGKILL of every process leaves whole batches', async (t) => {
  t.strictSame(await killOften(t, kills), [], `after ${kills} times`)
})

t.test('of batches in two halves it leaves parts', async (t) => {
  t.not((await killOften(t, 50, halved)).length, 0)
})

/** What is wrong on the disk after so many power cuts, or until something is. */
async function cutOften(t: Test, times: number, program?: string): Promise<readonly string[]> {
  const disk = makeDisk(t)
  const options = { workers: 2, dataDir: join(disk.directory, 'db'), flags, check: false }
  const server = await startServer(t, { ...options, program })
  const writers = new SubtreeWriters(subtrees, () => server)
  writers.start()
  const faults: string[] = []
  let cuts = 0
  while (cuts < times && faults.length === 0) {
    await writers.more(batchesMin)
    const from = writers.subtrees.map(({ acknowledged }) => acknowledged)
    let to: readonly number[] = []
    const { directory, forget } = await disk.cut(undefined, () => {
      to = writers.subtrees.map(({ sent }) => sent)
    })
    cuts++
    const copy = await startServer(t, { ...options, dataDir: join(directory, 'db'), token: server.token })
    for (const [i, subtree] of writers.subtrees.entries()) {
      const page = await subtree.read(copy.client)
      faults.push(...subtree.faults(page, { from: at(from, i), to: at(to, i) }))
    }
    await copy.stop()
    const check = await copy.command('check')
    t.equal(check.code, 0, `the store is sound: ${check.stdout}${check.stderr}`)
    forget()
  }
  await writers.stop()
  await server.stop()
  t.comment(`${writers.acknowledged} batches acknowledged, power cut ${cuts} times`)
  return faults
}

t.test('a power cut leaves whole batches', { skip: whyNoPowerCuts() }, async (t) => {
  t.strictSame(await cutOften(t, cuts), [], `after ${cuts} cuts`)
})

t.test('of batches in two halves it leaves parts on the disk', { skip: whyNoPowerCuts() }, async (t) => {
  t.not((await cutOften(t, 20, halved)).length, 0)
})
