/**
 * Under a mixed load of all client operations, every response is correct, and memory, file and latencies do not grow over time. There are
 * reloads, before each of which the workers are equally old, except in the last fifth of the time, where growth within one worker shows.
 * MIXED_SECONDS=9000 runs two hours with reloads every five minutes. Only a run of ten minutes or more is long enough to compare its parts.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { at, quantileOf } from '../support/elements.js'
import { MixedLoad } from '../support/load/mixed-load.js'
import { OtherClient } from '../support/load/other-client.js'
import { memoryEnv, memoryInUseMiB } from '../support/machines/memory-in-use.js'
import { residentMiB } from '../support/machines/processes.js'
import { prefixed, reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer } from '../support/service/server.js'

const seconds = Number(process.env.MIXED_SECONDS ?? 20)

const lastingSeconds = seconds / 5
const reloadMs = Math.min(300, (seconds - lastingSeconds) / 4) * 1000

/** So few that the log of changes is full when all topics are created, and the file does not grow with it. */
const changesKept = 20_000

/** Parts of the time with reloads, and of the rest. The first part is warm-up; the second is compared with the last. */
const parts = 10
const comparedFromSeconds = 600

/** Maximum growth from the second part to the last. */
const memoryGrowthMax = 1.2
/** V8 takes up to three times 16 MiB for young objects once there have been many, and keeps them. */
const residentGrowthMiBMax = 48
const fileGrowthMax = 1.05
const latencyGrowthMax = 2

t.setTimeout((seconds + 120) * 1000)

interface Latencies {
  readonly fetchP99Ms: number
  readonly fetchMaxMs: number
  readonly writeP99Ms: number
  readonly writeMaxMs: number
}

/** Memory of the largest process of each kind: in use without garbage, and resident. Also the size of the file. */
interface Sizes {
  readonly workersMiB: number
  readonly workersResidentMiB: number
  readonly primaryMiB: number
  readonly primaryResidentMiB: number
  readonly fileMiB: number
}

const mib = 1024 * 1024

/** The largest size; a process that has just exited counts as 0. */
function largestMiB(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    try {
      return residentMiB(pid).own
    } catch {
      return 0
    }
  })
  return Math.max(...sizes)
}

/** @param directory the directory of the server's `memoryEnv` */
async function sizesOf(server: Server, directory: string): Promise<Sizes> {
  const workers = server.workerPids()
  const [workersResidentMiB, primaryResidentMiB] = [largestMiB(workers), largestMiB([server.pid])]
  return {
    workersMiB: await memoryInUseMiB(directory, workers),
    workersResidentMiB,
    primaryMiB: await memoryInUseMiB(directory, [server.pid]),
    primaryResidentMiB,
    fileMiB: (statSync(join(server.dataDir, 'topics/data.mdb')).blocks * 512) / mib,
  }
}

async function latenciesOf(load: MixedLoad, otherClient: OtherClient): Promise<Latencies> {
  const { p99Ms, maxMs, faults } = await otherClient.seen(1)
  load.faults.push(...faults)
  const writeMs = load.writeMs()
  return {
    fetchP99Ms: p99Ms,
    fetchMaxMs: maxMs,
    writeP99Ms: quantileOf(writeMs, 0.99),
    writeMaxMs: writeMs.reduce((most, ms) => Math.max(most, ms), 0),
  }
}

/** Compares an early state with a late one, and shows both. */
function isFlat(t: Test, what: string, early: Sizes, late: Sizes): void {
  t.comment(`${what}: ${JSON.stringify(early)}, ${JSON.stringify(late)}`)
  if (seconds < comparedFromSeconds) return
  t.ok(late.workersMiB < memoryGrowthMax * early.workersMiB, `${what}: the memory of workers is flat`)
  t.ok(late.primaryMiB < memoryGrowthMax * early.primaryMiB, `${what}: the memory of the primary is flat`)
  for (const name of ['workersResidentMiB', 'primaryResidentMiB'] as const)
    t.ok(late[name] < early[name] + residentGrowthMiBMax, `${what}: ${name} is bounded`)
  t.ok(late.fileMiB < fileGrowthMax * early.fileMiB, `${what}: the file does not grow`)
}

t.test('a mixed load gets correct responses, and memory, file and latencies do not grow', async (t) => {
  const directory = t.testdir()
  const flags = ['--changes-kept', String(changesKept)]
  const server = await startServer(t, { workers: 2, dataDir: join(directory, 'db'), flags, env: memoryEnv(directory) })
  const beforeReloads: Sizes[] = []
  const beforeReload = async () => void beforeReloads.push(await sizesOf(server, directory))
  const load = new MixedLoad({ server, random: seededRandom(t), reloadMs, beforeReload })
  await load.start()
  const otherClient = new OtherClient(t, server, server.token, 'fetch', { path: 'standing/0' })
  const latencies: Latencies[] = []
  for (let part = 0; part < parts; part++) {
    await sleep(((seconds - lastingSeconds) / parts) * 1000)
    latencies.push(await latenciesOf(load, otherClient))
    t.comment(JSON.stringify(at(latencies, -1)))
  }
  load.endReloads()
  const lasting: Sizes[] = []
  for (let part = 0; part < parts; part++) {
    await sleep((lastingSeconds / parts) * 1000)
    lasting.push(await sizesOf(server, directory))
  }
  const lastingLatencies = await latenciesOf(load, otherClient)
  await load.stop()
  t.strictSame(load.faults, [], 'every response was correct')
  for (const [name, count] of Object.entries(load.counts)) t.ok(count > 0, `${count} ${name}`)
  const reloaded = [beforeReloads[1] ?? at(beforeReloads, 0), at(beforeReloads, -1)] as const
  const unreloaded = [at(lasting, 1), at(lasting, -1)] as const
  isFlat(t, 'before reloads', ...reloaded)
  isFlat(t, 'without reloads', ...unreloaded)
  const [early, late] = [at(latencies, 1), at(latencies, -1)]
  if (seconds >= comparedFromSeconds) {
    for (const [when, { fetchP99Ms, writeP99Ms }] of Object.entries({ late, lastingLatencies })) {
      t.ok(fetchP99Ms < latencyGrowthMax * early.fetchP99Ms, `fetches take as long as before: ${when}`)
      t.ok(writeP99Ms < latencyGrowthMax * early.writeP99Ms, `writes take as long as before: ${when}`)
    }
  }
  reportResults(t, {
    seconds,
    ...load.counts,
    faults: load.faults.length,
    repeatedBatches: load.repeatedBatches,
    ...prefixed('early', { ...reloaded[0], ...early }),
    ...prefixed('late', { ...reloaded[1], ...late }),
    ...prefixed('begin', unreloaded[0]),
    ...prefixed('end', unreloaded[1]),
    fetchMax: Math.round(Math.max(...latencies.map(({ fetchMaxMs }) => fetchMaxMs))),
    writeMax: Math.round(Math.max(...latencies.map(({ writeMaxMs }) => writeMaxMs))),
  })
})
