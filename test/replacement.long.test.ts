/**
 * The open hazard: a process that opens the store while another one writes can lose what that one has acknowledged. So every
 * opening waits until all others hold their writes. Here workers are killed and replaced, and `keys` and `check` and `backup`
 * run, beside writers at full speed, and every acknowledged write is read back. HAZARD_SECONDS=300 goes on for longer.
 *
 * Such a loss is rare, some in a million writes, so a short run without one shows little. What shows at once is whether
 * anybody committed between the beginning and the end of an opening, which is when it would happen: a copy of the built
 * program tells the number of the last commit before and after each opening. With the hold nobody does. In the control,
 * whose members do not hold, somebody does, and HAZARD_SECONDS=600 loses writes with some luck.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { patchedProgram, replaceModule } from './support/patched.js'
import { seededRandom } from './support/random.js'
import { type Server, startServer, until } from './support/server.js'

const seconds = Number(process.env.HAZARD_SECONDS ?? 8)
const connections = 24

/** A slow machine takes longer for as many openings. */
const openingsMin = 10

t.setTimeout((3 * seconds + 120) * 1000)

/** Writers at full speed, each with topics of its own, all new: a lost commit is a missing topic. */
class Writers {
  readonly acknowledged: string[] = []
  readonly #loops: Promise<void>[]
  #stopping = false

  constructor(server: Server) {
    this.#loops = Array.from({ length: connections }, async (_, i) => {
      for (let next = 0; !this.#stopping; next++) {
        const client = server.connect()
        try {
          for (; !this.#stopping; next++) {
            const path = `full/${i}/${next}`
            const { status } = await client.post('addAndSet', { path, value: next })
            if (status === 200) this.acknowledged.push(path)
          }
        } catch {
          // Its worker was killed: on to another one.
        }
        client.close()
      }
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#loops)
  }
}

async function missing(server: Server, acknowledged: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const { results } of await server.client.walk('*full//', { size: 1000 })) for (const { path } of results) found.add(path)
  return acknowledged.filter((path) => !found.has(path))
}

/** Tells, for each opening, how many commits were made while it lasted, its own included. */
const measuredOpening = `import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { openEnvironment as openSoundEnvironment } from './sound-environment.js'
export * from './sound-environment.js'

/** Where each of the two meta pages, of 4,096 bytes, keeps the number of its commit. */
const commitAt = 152

function lastCommit(directory) {
  const file = join(directory, 'topics', 'data.mdb')
  if (!existsSync(file)) return undefined
  const pages = Buffer.alloc(8192)
  const descriptor = openSync(file, 'r')
  const read = readSync(descriptor, pages, 0, pages.length, 0)
  closeSync(descriptor)
  if (read < pages.length) return undefined
  return Math.max(Number(pages.readBigUInt64LE(commitAt)), Number(pages.readBigUInt64LE(4096 + commitAt)))
}

export function openEnvironment(directory, ...rest) {
  const before = lastCommit(directory)
  const environment = openSoundEnvironment(directory, ...rest)
  const commits = lastCommit(directory) - before
  if (before !== undefined) process.stdout.write(JSON.stringify({ msg: 'store opened', directory, commits }) + '\\n')
  return environment
}
`

/** Lets everybody open at once, beside whoever writes. */
const openingWithoutHold = `export function createMembers() {
  return {
    async open(child) {
      const opened = child.waitFor('opened', 10_000)
      child.send({ kind: 'open' })
      await opened
    },
  }
}
`

interface Outcome {
  readonly acknowledged: number
  readonly missing: readonly string[]
  /** The commits made during each opening beside writers. */
  readonly openings: readonly number[]
  /** The commits that an opening makes by itself. */
  readonly own: number
}

/** The children that are workers, not tools. */
function workersOf(server: Server): number[] {
  return server.workerPids().filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('worker.js'))
}

/** Resolves once the log has said so that many times. */
async function logged(server: Server, msg: string, times: number): Promise<void> {
  await until(`"${msg}", ${times} times`, async () => server.log.filter((line) => line.msg === msg).length >= times || undefined)
}

async function replaceOften(t: Test, program: string): Promise<Outcome> {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 3, program })
  const openings = (): number[] =>
    server.log.filter(({ msg, directory }) => msg === 'store opened' && directory === server.dataDir).map(({ commits }) => Number(commits))
  // Two of the three workers opened a store that was there, before anybody wrote.
  const first = openings()
  const writers = new Writers(server)
  const endMs = performance.now() + seconds * 1000
  const isOver = (): boolean => performance.now() > endMs && openings().length >= first.length + openingsMin
  const done = { kill: 0, reload: 0, keys: 0, check: 0, backup: 0 }

  async function succeeds(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await server.command(...args)
    if (code !== 0) t.fail(`${args.join(' ')} ended with ${code}: ${stderr}`)
  }

  async function tools(): Promise<void> {
    for (let round = 0; !isOver(); round++) {
      const file = join(server.dataDir, '..', `backup-${round}`)
      await Promise.all([succeeds('check'), succeeds('keys', 'add', `key-${round}`), succeeds('backup', file)])
      await succeeds('keys', 'revoke', `key-${round}`)
      rmSync(file, { recursive: true, force: true })
      done.check++
      done.backup++
      done.keys += 2
    }
  }

  async function replacements(): Promise<void> {
    while (!isOver()) {
      // Workers that die young are replaced ever later; those that are rolled over are not.
      if (done.kill < 2) {
        process.kill(random.pick(workersOf(server)), 'SIGKILL')
        await logged(server, 'worker replaced', ++done.kill)
      } else {
        server.signal('SIGHUP')
        await logged(server, 'rolling restart done', ++done.reload)
      }
    }
  }

  await Promise.all([tools(), replacements()])
  await writers.stop()
  const acknowledged = writers.acknowledged.length
  const beside = openings().slice(first.length)
  t.comment(`${acknowledged} writes acknowledged, ${beside.length} openings beside them, ${JSON.stringify(done)}`)
  return { acknowledged, missing: await missing(server, writers.acknowledged), openings: beside, own: Math.max(...first) }
}

t.test('workers are replaced and tools run beside writers: nobody commits meanwhile, nothing is lost', async (t) => {
  const program = patchedProgram(join(t.testdir(), 'measured'), 'store/lmdb/environment.js', measuredOpening)
  await t.test('with the hold', async (t) => {
    const { acknowledged, missing, openings, own } = await replaceOften(t, program)
    t.strictSame(missing, [], `${acknowledged} acknowledged writes are there`)
    t.ok(openings.length >= openingsMin, `the store was opened beside writers, ${openings.length} times`)
    t.equal(Math.max(...openings), own, 'nobody else committed during any of them')
  })
})

t.test('without the hold others commit during openings, so that the hazard is real', async (t) => {
  const program = patchedProgram(join(t.testdir(), 'unheld'), 'store/lmdb/environment.js', measuredOpening)
  replaceModule(program, 'cluster/members.js', openingWithoutHold)
  await t.test('the control', async (t) => {
    const { acknowledged, missing, openings, own } = await replaceOften(t, program)
    const disturbed = openings.filter((commits) => commits > own).length
    t.not(disturbed, 0, `others committed during ${disturbed} of ${openings.length} openings`)
    t.comment(`${missing.length} of ${acknowledged} acknowledged writes were lost`)
  })
})
