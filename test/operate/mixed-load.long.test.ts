/**
 * Under a mixed load of everything that clients and operators do, with reloads, every answer is right, and memory, file
 * and latencies are at the end what they were at the beginning. MIXED_SECONDS=7200 runs for two hours; only a run of ten
 * minutes or more is long enough to compare its parts.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Bystander } from '../support/bystander.js'
import { reportFigures } from '../support/figures.js'
import { MixedLoad } from '../support/mixed-load.js'
import { at, quantileOf } from '../support/only.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer } from '../support/server.js'

const seconds = Number(process.env.MIXED_SECONDS ?? 20)

/** Parts of the run that are compared: the first is warm-up, the second is compared with the last. */
const parts = 10
const comparedFromSeconds = 600

const reloadMs = Math.min(300, seconds / 3) * 1000

/** How much larger the last part may be than the second. */
const memoryGrowthMax = 1.2
const fileGrowthMax = 1.05
const latencyGrowthMax = 2

t.setTimeout((seconds + 120) * 1000)

interface Part {
  readonly workersMiB: number
  readonly primaryMiB: number
  readonly fileMiB: number
  readonly fetchP99Ms: number
  readonly writeP99Ms: number
}

const mib = 1024 * 1024

function residentMiB(pids: readonly number[]): number {
  return Math.max(
    ...pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024),
  )
}

async function partOf(server: Server, load: MixedLoad, bystander: Bystander): Promise<Part> {
  const { p99Ms, faults } = await bystander.seen(1)
  load.faults.push(...faults)
  return {
    workersMiB: residentMiB(server.workerPids()),
    primaryMiB: residentMiB([server.pid]),
    fileMiB: (statSync(join(server.dataDir, 'topics/data.mdb')).blocks * 512) / mib,
    fetchP99Ms: p99Ms,
    writeP99Ms: quantileOf(load.writeMs(), 0.99),
  }
}

t.test('a mixed load with reloads is answered right, and nothing grows', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const load = new MixedLoad({ server, random: seededRandom(t), reloadMs })
  await load.start()
  const bystander = new Bystander(t, server, server.token, 'standing/0')
  const measured: Part[] = []
  for (let part = 0; part < parts; part++) {
    await new Promise((resolve) => setTimeout(resolve, (seconds / parts) * 1000))
    measured.push(await partOf(server, load, bystander))
    t.comment(JSON.stringify(at(measured, -1)))
  }
  await load.stop()
  t.strictSame(load.faults, [], 'every answer was right')
  for (const [name, count] of Object.entries(load.counts))
    if (name !== 'keys' || seconds > 60) t.ok(count > 0, `${count} ${name}`)
  const [early, late] = [at(measured, 1), at(measured, -1)]
  if (seconds >= comparedFromSeconds) {
    t.ok(late.workersMiB < memoryGrowthMax * early.workersMiB, 'the memory of workers is flat')
    t.ok(late.primaryMiB < memoryGrowthMax * early.primaryMiB, 'the memory of the primary is flat')
    t.ok(late.fileMiB < fileGrowthMax * early.fileMiB, 'the file does not grow')
    t.ok(late.fetchP99Ms < latencyGrowthMax * early.fetchP99Ms, 'fetches take as long as before')
    t.ok(late.writeP99Ms < latencyGrowthMax * early.writeP99Ms, 'writes take as long as before')
  }
  reportFigures(t, {
    seconds,
    ...load.counts,
    repeatedBatches: load.repeatedBatches,
    ...prefixed('early', early),
    ...prefixed('late', late),
  })
})

/** Figures of one part, under names whose largest value counts. */
function prefixed(when: string, part: Part): Record<string, number> {
  return Object.fromEntries(
    Object.entries(part).map(([name, figure]) => [`${when}.${name}.Max`, Math.round(figure * 10) / 10]),
  )
}
