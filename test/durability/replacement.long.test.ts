/**
 * A process that opens the store while another one writes can lose acknowledged writes of the other. So all others
 * pause their writes during an opening. Here workers are killed and replaced, and `keys`, `check` and `backup` run,
 * beside writers at full speed, and every acknowledged write is read back. HAZARD_SECONDS=300 runs longer.
 *
 * Such a loss is rare, a few in a million writes, so a short run without one proves little. A copy of the build
 * therefore prints how many commits were made during each opening, which is when a loss can happen: with the pause,
 * none by others. In the control, whose processes do not pause, there are some, and the control ends then: a store that
 * was opened that way may do anything afterwards. With HAZARD_SECONDS=600 the control continues, and may lose writes.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { patchedProgram, replaceModule } from '../support/faults/patched.js'
import { seededRandom } from '../support/random.js'
import { type Server, type StartOptions, startServer, until } from '../support/service/server.js'

const hazardSeconds = process.env.HAZARD_SECONDS
const seconds = Number(hazardSeconds ?? 8)
const connections = 24

/** A slow machine runs longer, until it has made this many openings. */
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
          // Its worker was killed: the next connection goes to another one.
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
  for (const { results } of await server.client.walk('*full//', { size: 1000 }))
    for (const { path } of results) found.add(path)
  return acknowledged.filter((path) => !found.has(path))
}

/** Prints, for each opening, how many commits were made during it, its own included. */
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

/** Lets every process open the store at once, while others write. */
const openingWithoutPause = `export class StoreOpener {
  async open(child) {
    const opened = child.waitFor('opened', 10_000)
    child.send({ kind: 'open' })
    await opened
  }
  openWriter(child) {
    return this.open(child)
  }
}
`

/** Resolves once the log has that many lines with this message; fails if the service ends before. */
async function logged(server: Server, msg: string, times: number): Promise<void> {
  await until(`"${msg}", ${times} times`, async () => {
    if (!server.running) throw new Error(`the service ended before "${msg}", ${times} times`)
    return server.timesLogged(msg) >= times || undefined
  })
}

/** A service with writers, beside which the store is opened again and again. */
interface Trial {
  readonly server: Server
  readonly writers: Writers
  /** The commits that an opening makes by itself. */
  readonly own: number
  /** The commits made during each opening beside the writers so far. */
  openings(): readonly number[]
  /** Resolves once `isOver` has returned true and no opening is in progress. */
  readonly done: Promise<void>
}

async function openOften(
  t: Test,
  options: StartOptions,
  isOver: (openings: readonly number[], own: number) => boolean,
): Promise<Trial> {
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 3, ...options })
  const commits = (): number[] =>
    server.log
      .filter(({ msg, directory }) => msg === 'store opened' && directory === server.dataDir)
      .map((line) => Number(line.commits))
  // Two of the three workers opened an existing store, before the writers began.
  const first = commits()
  const own = Math.max(...first)
  const openings = () => commits().slice(first.length)
  const over = () => isOver(openings(), own)
  const counts = { kill: 0, reload: 0, keys: 0, check: 0, backup: 0 }

  async function succeeds(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await server.command(...args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  }

  async function tools(): Promise<void> {
    for (let round = 0; !over(); round++) {
      const file = join(server.dataDir, '..', `backup-${round}`)
      await Promise.all([succeeds('check'), succeeds('keys', 'add', `key-${round}`), succeeds('backup', file)])
      await succeeds('keys', 'revoke', `key-${round}`)
      rmSync(file, { recursive: true, force: true })
      counts.check++
      counts.backup++
      counts.keys += 2
    }
  }

  async function replacements(): Promise<void> {
    while (!over()) {
      // Workers that die young are replaced after longer and longer delays; those of a rolling restart are not.
      if (counts.kill < 2) {
        process.kill(random.pick(server.workerPids()), 'SIGKILL')
        await logged(server, 'worker replaced', ++counts.kill)
      } else {
        server.signal('SIGHUP')
        await logged(server, 'rolling restart done', ++counts.reload)
      }
    }
  }

  const writers = new Writers(server)
  const done = Promise.all([tools(), replacements()]).then(() => t.comment(JSON.stringify(counts)))
  return { server, writers, own, openings, done }
}

t.test('no other process commits during an opening, and no acknowledged write is lost', async (t) => {
  const program = patchedProgram(
    join(t.testdir(), 'measured'),
    'store/lmdb/environment/environment.js',
    measuredOpening,
  )
  await t.test('with the pause', async (t) => {
    const endMs = performance.now() + seconds * 1000
    const isOver = (openings: readonly number[]): boolean => performance.now() > endMs && openings.length >= openingsMin
    const { server, writers, own, openings, done } = await openOften(t, { program }, isOver)
    await done.finally(() => writers.stop())
    const { acknowledged } = writers
    t.strictSame(await missing(server, acknowledged), [], `${acknowledged.length} acknowledged writes are there`)
    t.ok(openings().length >= openingsMin, `the store was opened beside writers, ${openings().length} times`)
    t.equal(Math.max(...openings()), own, 'no other process committed during any of them')
  })
})

t.test('without the pause other processes commit during openings, so the hazard is real', async (t) => {
  const program = patchedProgram(
    join(t.testdir(), 'unpaused'),
    'store/lmdb/environment/environment.js',
    measuredOpening,
  )
  replaceModule(program, 'cluster/primary/store-opening.js', openingWithoutPause)
  await t.test('the control', async (t) => {
    // Such a store may do anything afterwards, so it is not read or checked, and the service is killed.
    const unsound = { program, check: false, exitCode: undefined }
    const disturbed = (openings: readonly number[], own: number): number =>
      openings.filter((commits) => commits > own).length
    const endMs = performance.now() + (hazardSeconds === undefined ? 0 : seconds * 1000)
    const isOver = (openings: readonly number[], own: number): boolean =>
      performance.now() > endMs && disturbed(openings, own) > 0
    const { server, writers, own, openings, done } = await openOften(t, unsound, isOver)
    const failed = done.then(
      () => undefined,
      (error: Error) => t.comment(`an unsound store: ${error.message}`),
    )
    try {
      await until('an opening during which others committed', async () => isOver(openings(), own) || undefined)
      t.not(
        disturbed(openings(), own),
        0,
        `others committed during ${disturbed(openings(), own)} of ${openings().length} openings`,
      )
      if (hazardSeconds !== undefined) {
        await failed
        await writers.stop()
        t.comment(
          `${(await missing(server, writers.acknowledged)).length} of ${writers.acknowledged.length} acknowledged writes were lost`,
        )
      }
    } finally {
      for (const pid of [server.pid, ...server.workerPids()]) process.kill(pid, 'SIGKILL')
      await writers.stop()
      await failed
    }
  })
})
