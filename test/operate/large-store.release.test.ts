/**
 * A large store and one of 10,000 topics: the times of import, export, check, backup and restore, and the cost of requests, which may grow
 * only slightly with the store. Then the same requests to a service that may use a quarter of the file's size as memory, cached pages
 * included. LARGE_TOPICS=10000000 takes an hour and 15 GB. SLOWER_MAX=3 and LIMITED_MS_MAX=1000 set the limits for a quiet machine.
 */
import { spawn } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t, { type Test } from 'tap'
import { quantileOf } from '../support/elements.js'
import { type Costs, linesOf, NumberedTopics, Requests } from '../support/load/numbered-topics.js'
import { emptyFileCache, limitedNode, whyNoMemoryLimit } from '../support/machines/memory-limit.js'
import { majorFaults, residentMiB } from '../support/machines/processes.js'
import { prefixed, reportResults } from '../support/proof-results.js'
import { type Random, seededRandom } from '../support/random.js'
import { type CommandResult, mainFile, type Server, startServer } from '../support/service/server.js'
import { tied } from '../support/tied.js'

const smallTopics = 10_000
const largeTopics = Number(process.env.LARGE_TOPICS ?? 30_000)

/** Maximum factor of the time of a request to the large store. LMDB's tree has a level or two more. */
const slowerMax = Number(process.env.SLOWER_MAX ?? 10)

/** An additional factor for a batch of topics from anywhere, which rewrites a page for each of them. */
const batchFactor = 3

/** Maximum time of a request while most values are read from the disk, in ms. */
const limitedMsMax = Number(process.env.LIMITED_MS_MAX ?? 30_000)

/** A quarter of a small file would be too little for the processes themselves. */
const limitBytesMin = 400 * 1024 ** 2
const workers = 2

t.setTimeout(4 * 3_600_000)

/** Runs a command to its end. `input` is streamed to the command, and its output into `output`. */
async function run(
  args: readonly string[],
  input: Iterable<string> = [],
  output?: Hash,
): Promise<CommandResult & { seconds: number }> {
  const startedMs = performance.now()
  const child = spawn(...tied(process.execPath, [mainFile, ...args]), { stdio: 'pipe' })
  const closed = once(child, 'close')
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (bytes: Buffer) => {
    if (output === undefined) stdout += bytes.toString()
    else output.update(bytes)
  })
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()))
  await pipeline(Readable.from(input), child.stdin)
  await closed
  return { code: child.exitCode, stdout, stderr, seconds: (performance.now() - startedMs) / 1000 }
}

/** The memory of the primary and of the largest worker, in MiB. `residentMiB` includes the pages of the file. */
function memoryOf(server: Server): Readonly<Record<string, number>> {
  const workers = server.workerPids().map(residentMiB)
  const primary = residentMiB(server.pid)
  return {
    primaryMiB: Math.round(primary.own),
    workerMiB: Math.round(Math.max(...workers.map(({ own }) => own))),
    residentMiB: Math.round(Math.max(...workers.map(({ all }) => all))),
  }
}

interface Measured {
  readonly numbered: NumberedTopics
  readonly costs: Costs
  readonly results: Readonly<Record<string, number>>
  readonly dataDir: string
  readonly token: string
  readonly fileBytes: number
}

async function imported(t: Test, dataDir: string, topics: number): Promise<{ seconds: number; token: string }> {
  const result = await run(['import', '--data', dataDir], linesOf(topics))
  t.match(result, { code: 0, stdout: new RegExp(`^${topics} topics imported`) })
  const key = await run(['keys', 'add', 'measuring', '--data', dataDir])
  return { seconds: result.seconds, token: /topicd_[\w-]+/.exec(key.stdout)?.[0] ?? '' }
}

/** Exports a store, through its service if there is one, and compares every byte. @returns the time in seconds */
async function compared(t: Test, dataDir: string, { topics, writes }: NumberedTopics, what: string): Promise<number> {
  const expected = createHash('sha256')
  for (const piece of linesOf(topics, writes)) expected.update(piece)
  const found = createHash('sha256')
  const { code, stderr, seconds } = await run(['export', '--data', dataDir], [], found)
  t.equal(code, 0, stderr)
  t.equal(found.digest('hex'), expected.digest('hex'), `${what} has every byte that was imported and written`)
  return seconds
}

async function measure(t: Test, directory: string, topics: number, random: Random): Promise<Measured> {
  const dataDir = join(directory, `of-${topics}`)
  const { seconds: importS, token } = await imported(t, dataDir, topics)
  const fileBytes = statSync(join(dataDir, 'topics/data.mdb')).size
  const numbered = new NumberedTopics(topics)
  const server = await startServer(t, { dataDir, token, workers, check: false })
  const load = new Requests(server, random, numbered)
  await load.costs()
  const costs = await load.costs()
  await load.readBack()
  const memory = memoryOf(server)
  const exportS = await compared(t, dataDir, numbered, 'the export through the service')
  const file = join(directory, 'backup.mdb')
  const backup = await run(['backup', file, '--data', dataDir])
  t.equal(backup.code, 0, backup.stderr)
  await server.stop()

  const check = await run(['check', '--data', dataDir])
  t.match(check, { code: 0, stdout: /, 0 findings\n$/ })
  const restoredDir = join(directory, 'restored')
  mkdirSync(restoredDir)
  const restored = await run(['restore', file, '--data', restoredDir])
  t.equal(restored.code, 0, restored.stderr)
  await compared(t, restoredDir, numbered, 'the restored store')
  rmSync(restoredDir, { recursive: true })
  rmSync(file)
  const seconds = { importS, exportS, checkS: check.seconds, backupS: backup.seconds, restoreS: restored.seconds }
  const results = {
    ...Object.fromEntries(Object.entries(seconds).map(([name, value]) => [name, Math.round(value * 10) / 10])),
    ...memory,
    fileMiB: Math.round(fileBytes / 1024 ** 2),
  }
  return { numbered, costs, results, dataDir, token, fileBytes }
}

/** The median, the 99th percentile and the longest of each request, in µs. */
function microseconds(costs: Costs): Record<string, number> {
  return Object.fromEntries(
    Object.entries(costs).flatMap(([name, ms]: [string, readonly number[]]) => [
      [`${name}Us`, Math.round(quantileOf(ms, 0.5) * 1000)],
      [`${name}P99Us`, Math.round(quantileOf(ms, 0.99) * 1000)],
      [`${name}LongestUs`, Math.round(Math.max(...ms) * 1000)],
    ]),
  )
}

const directory = t.testdir()
// Other fixtures are kept, but these are large.
t.teardown(() => rmSync(directory, { recursive: true, force: true }))

/** A service limited to a quarter of the file's size serves every topic, and then the same requests. */
async function measureLimited(t: Test, large: Measured, random: Random): Promise<void> {
  const { dataDir, token, numbered } = large
  const limitBytes = Math.max(Math.round(large.fileBytes / 4), limitBytesMin)
  const node = join(directory, 'limited-node')
  const memoryUse = limitedNode(t, node, limitBytes)
  emptyFileCache()
  const server = await startServer(t, { dataDir, token, workers, node, check: false })
  const load = new Requests(server, random, numbered)
  await load.walk()
  const faultsBefore = faultsOf(server)
  const costs = await load.costs()
  await load.readBack()
  const faults = faultsOf(server) - faultsBefore
  const { met, mostBytes } = memoryUse()
  const slowestMs = Math.max(...Object.values(costs).flat())
  t.ok(slowestMs <= limitedMsMax, `every request is answered, the slowest after ${slowestMs.toFixed(0)} ms`)
  t.ok(mostBytes <= limitBytes, `${mostBytes} of ${limitBytes} bytes were used`)
  if (large.fileBytes > limitBytes) {
    t.ok(met > 0, `memory was freed ${met} times to stay within the limit`)
    t.ok(faults > 0, `${faults} pages were read from the disk`)
  }
  const results = {
    ...microseconds(costs),
    ...memoryOf(server),
    limitMiB: Math.round(limitBytes / 1024 ** 2),
    met,
    faults,
  }
  reportResults(t, prefixed('limited', results))
}

/** Page faults of the primary and all workers. */
function faultsOf(server: Server): number {
  return [server.pid, ...server.workerPids()].reduce((sum, pid) => sum + majorFaults(pid), 0)
}

await t.test('requests to a large store cost little more than to a small one', async (t) => {
  const random = seededRandom(t)
  const small = await measure(t, directory, smallTopics, random)
  const large = await measure(t, directory, largeTopics, random)
  for (const [name, ms] of Object.entries(large.costs) as [keyof Costs, readonly number[]][]) {
    const factor = quantileOf(ms, 0.5) / quantileOf(small.costs[name], 0.5)
    t.ok(factor < slowerMax * (name === 'batch' ? batchFactor : 1), `${name}: ${factor.toFixed(2)} times`)
  }
  reportResults(t, {
    topics: largeTopics,
    ...prefixed('small', { ...small.results, ...microseconds(small.costs) }),
    ...prefixed('large', { ...large.results, ...microseconds(large.costs) }),
  })
  await t.test(
    'requests to a large store are answered with memory for a quarter of it',
    { skip: whyNoMemoryLimit() },
    (t) => measureLimited(t, large, random),
  )
})
