/**
 * A large store beside one of 10,000 topics: import, export, check, backup and restore with their times, and what
 * requests cost, which must hardly grow with the store; then the same requests by a service that may use a quarter of
 * the file's size as memory, cached pages included. LARGE_TOPICS=10000000 takes half an hour and 15 GB; figures are compared from a million on.
 */
import { spawn } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t, { type Test } from 'tap'
import { reportFigures } from '../support/figures.js'
import { limitedNode, whyNoMemoryLimit } from '../support/memory-limit.js'
import { type Costs, linesOf, Requests } from '../support/numbered-topics.js'
import { quantileOf } from '../support/only.js'
import { type Random, seededRandom } from '../support/random.js'
import { type CommandResult, mainFile, type Server, startServer } from '../support/server.js'

const smallTopics = 10_000
const largeTopics = Number(process.env.LARGE_TOPICS ?? 30_000)
const comparedFromTopics = 1_000_000

/** How much longer a request to the large store may take: LMDB's tree has a level or two more. */
const slowerMax = 3

/** A store larger than the memory reads most values from the disk, which takes its time. */
const limitedMsMax = 1000

/** A quarter of a small file would not do for the processes themselves. */
const limitBytesMin = 400 * 1024 ** 2
const workers = 2

t.setTimeout(4 * 3_600_000)

/** Runs a command to its end; `input` is streamed in, and what it prints into `output`. */
async function run(
  args: readonly string[],
  input: Iterable<string> = [],
  output?: Hash,
): Promise<CommandResult & { seconds: number }> {
  const startedMs = performance.now()
  const child = spawn(process.execPath, [mainFile, ...args], { stdio: 'pipe' })
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

/** The largest worker's own memory, without the pages of the file, in MiB. */
function ownMiB(server: Server): number {
  const own = (pid: number): number =>
    Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1024
  return Math.max(...server.workerPids().map(own))
}

interface Measured {
  readonly costs: Costs
  readonly figures: Readonly<Record<string, number>>
  readonly dataDir: string
  readonly token: string
  readonly fileBytes: number
}

async function measure(t: Test, directory: string, topics: number, random: Random): Promise<Measured> {
  const dataDir = join(directory, `of-${topics}`)
  const imported = await run(['import', '--data', dataDir], linesOf(topics))
  t.match(imported, { code: 0, stdout: new RegExp(`^${topics} topics imported`) })
  const fileBytes = statSync(join(dataDir, 'topics/data.mdb')).size

  const key = await run(['keys', 'add', 'measuring', '--data', dataDir])
  const token = /topicd_[\w-]+/.exec(key.stdout)?.[0] ?? ''
  const server = await startServer(t, { dataDir, token, workers, check: false })
  const load = new Requests(server, random, topics)
  await load.costs()
  const costs = await load.costs()
  const workerMiB = ownMiB(server)

  const expected = createHash('sha256')
  for (const piece of linesOf(topics)) expected.update(piece)
  const found = createHash('sha256')
  const exported = await run(['export', '--data', dataDir], [], found)
  t.equal(exported.code, 0, exported.stderr)
  t.equal(found.digest('hex'), expected.digest('hex'), 'the export has every byte of the import')
  const backup = await run(['backup', join(directory, 'backup.mdb'), '--data', dataDir])
  t.equal(backup.code, 0, backup.stderr)
  await server.stop()

  const check = await run(['check', '--data', dataDir])
  t.match(check, { code: 0, stdout: /, 0 findings\n$/ })
  const restoredDir = join(directory, 'restored')
  mkdirSync(restoredDir)
  const restored = await run(['restore', join(directory, 'backup.mdb'), '--data', restoredDir])
  t.equal(restored.code, 0, restored.stderr)
  rmSync(restoredDir, { recursive: true })
  rmSync(join(directory, 'backup.mdb'))
  const seconds = { import: imported, export: exported, check, backup, restore: restored }
  const figures = {
    ...Object.fromEntries(
      Object.entries(seconds).map(([name, { seconds }]) => [`${name}S`, Math.round(seconds * 10) / 10]),
    ),
    fileMiB: Math.round(fileBytes / 1024 ** 2),
    workerMiB: Math.round(workerMiB),
  }
  return { costs, figures, dataDir, token, fileBytes }
}

/** The median and the 99th percentile of each request, in µs. */
function microseconds(costs: Costs): Record<string, number> {
  return Object.fromEntries(
    Object.entries(costs).flatMap(([name, ms]: [string, readonly number[]]) => [
      [`${name}Us`, Math.round(quantileOf(ms, 0.5) * 1000)],
      [`${name}P99Us`, Math.round(quantileOf(ms, 0.99) * 1000)],
    ]),
  )
}

function prefixed(when: string, figures: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${when}.${name}.Max`, figure]))
}

const directory = t.testdir()

await t.test('a large store costs what a small one does', async (t) => {
  const random = seededRandom(t)
  const small = await measure(t, directory, smallTopics, random)
  const large = await measure(t, directory, largeTopics, random)
  for (const [name, ms] of Object.entries(large.costs) as [keyof Costs, readonly number[]][]) {
    const factor = quantileOf(ms, 0.5) / quantileOf(small.costs[name], 0.5)
    const message = `${name}: ${factor.toFixed(2)} times`
    if (largeTopics >= comparedFromTopics) t.ok(factor < slowerMax, message)
    else t.comment(message)
  }
  reportFigures(t, {
    topics: largeTopics,
    ...prefixed('small', { ...small.figures, ...microseconds(small.costs) }),
    ...prefixed('large', { ...large.figures, ...microseconds(large.costs) }),
  })

  await t.test('in a quarter of the memory', { skip: whyNoMemoryLimit() }, async (t) => {
    const limit = Math.max(Math.round(large.fileBytes / 4), limitBytesMin)
    const node = join(directory, 'limited-node')
    limitedNode(t, node, limit)
    const { dataDir, token } = large
    const server = await startServer(t, { dataDir, token, workers, node, check: false })
    const costs = await new Requests(server, random, largeTopics).costs()
    const slowest = Math.max(...Object.values(costs).flat())
    t.ok(slowest < limitedMsMax, `every request is answered, the slowest after ${slowest.toFixed(0)} ms`)
    reportFigures(
      t,
      prefixed('limited', {
        ...microseconds(costs),
        limitMiB: Math.round(limit / 1024 ** 2),
        slowestMs: Math.round(slowest),
      }),
    )
  })
})
