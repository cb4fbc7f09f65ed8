/**
 * A process that opens the store while another one writes can lose acknowledged writes of the other, so all others pause their writes
 * during an opening. Such a loss is rare. Therefore a copy of the build prints the number of commits during each opening: there must be
 * none by other processes. Workers are killed and replaced, and commands run, alongside writers at full speed. OPENINGS=300 runs longer.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'

const openingsMin = Number(process.env.OPENINGS ?? 6)
const connections = 12

t.setTimeout((openingsMin * 10 + 300) * 1000)

/** Prints the number of commits during each opening, its own included. */
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

/** Adds new topics at full speed: a lost commit is a missing topic. */
async function write(server: Server, lane: number, isOver: () => boolean, acknowledged: string[]): Promise<void> {
  for (let next = 0; !isOver(); next++) {
    const client = server.connect()
    try {
      for (; !isOver(); next++) {
        const path = `full/${lane}/${next}`
        const { status } = await client.post('addAndSet', { path, value: next })
        if (status === 200) acknowledged.push(path)
      }
    } catch {
      // The worker of this connection was killed; the next connection goes to another one.
    }
    client.close()
  }
}

/** Resolves once the log has `times` lines with this message; fails if the service exits first. */
async function logged(server: Server, msg: string, times: number): Promise<void> {
  await until(`"${msg}" is logged ${times} times`, async () => {
    if (!server.running) throw new Error(`the service ended before "${msg}", ${times} times`)
    return server.timesLogged(msg) >= times || undefined
  })
}

t.test('no other process commits during an opening, and no acknowledged write is lost', async (t) => {
  const random = seededRandom(t)
  const directory = t.testdir()
  const program = patchedProgram(join(directory, 'measured'), 'store/lmdb/environment/environment.js', measuredOpening)
  const server = await startServer(t, { workers: 2, program, dataDir: join(directory, 'db') })
  const commits = (): number[] =>
    server.log
      .filter(({ msg, directory }) => msg === 'store opened' && directory === server.dataDir)
      .map((line) => Number(line.commits))
  // One of the two workers opened an existing store, before the writers started.
  const first = commits()
  const openings = () => commits().slice(first.length)
  const isOver = () => openings().length >= openingsMin

  async function succeeds(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await server.command(...args)
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  }

  async function tools(): Promise<void> {
    const file = join(directory, 'backup')
    for (let round = 0; round === 0 || !isOver(); round++) {
      await Promise.all([succeeds('check'), succeeds('keys', 'add', `key-${round}`), succeeds('backup', file)])
      await succeeds('keys', 'revoke', `key-${round}`)
      rmSync(file)
    }
  }

  async function replacements(): Promise<void> {
    for (let round = 0; round < 2 || !isOver(); round++) {
      // Workers that die young are replaced after growing delays, but workers of a rolling restart without delay.
      if (round === 0) {
        process.kill(random.pick(server.workerPids()), 'SIGKILL')
        await logged(server, 'worker replaced', 1)
      } else {
        server.signal('SIGHUP')
        await logged(server, 'rolling restart done', round)
      }
    }
  }

  const acknowledged: string[] = []
  let isDone = false
  const writers = Array.from({ length: connections }, (_, lane) => write(server, lane, () => isDone, acknowledged))
  await Promise.all([tools(), replacements()]).finally(() => (isDone = true))
  await Promise.all(writers)
  const pages = await server.client.walk('*full//', { size: 1000 })
  const found = new Set(pages.flatMap(({ results }) => results.map(({ path }) => path)))
  t.strictSame(
    acknowledged.filter((path) => !found.has(path)),
    [],
    `${acknowledged.length} acknowledged writes are there`,
  )
  t.equal(Math.max(...openings()), Math.max(...first), 'no other process committed during any opening')
})
