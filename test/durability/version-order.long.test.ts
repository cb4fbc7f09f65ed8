/**
 * The version of each topic goes up with every change, also where the topic was removed and created again, while the
 * clock steps back by hours and the writer is killed, the service reloaded, or killed and started again: then nothing
 * but what is stored says which versions were taken.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { patchedProgram } from '../support/faults/patched.js'
import { LongestWaits } from '../support/load/longest-waits.js'
import { type Random, randomFrom, seededRandom } from '../support/random.js'
import type { Answer, Client } from '../support/service/client.js'
import { type Server, startServer, until } from '../support/service/server.js'

const clients = 6
const rounds = 3
const hourMs = 3_600_000

t.setTimeout(300_000)

/** A clock that a file sets back, by as many milliseconds as it says. */
const clockSetBackBy = (file: string): string => `
import { readFileSync } from 'node:fs'
import { now as sound } from './sound-clock.js'
export { wallMsOf } from './sound-clock.js'
export const now = () => {
  const moment = sound()
  return { ...moment, wallMs: moment.wallMs - Number(readFileSync(${JSON.stringify(file)}, 'utf8')) }
}
`

/** How a request fails whose connection was closed: the change may have been made. */
const closed: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** All versions that were fetched, each after a change of its own. */
class Versions {
  readonly wrong: string[] = []
  /** The last one of each path. */
  readonly last = new Map<string, number>()
  readonly #seen = new Set<number>()

  note(path: string, version: number): void {
    const before = this.last.get(path) ?? 0
    if (version <= before) this.wrong.push(`${path}: ${version} after ${before}`)
    else if (this.#seen.has(version)) this.wrong.push(`${path}: ${version}, which another change has`)
    this.#seen.add(version)
    this.last.set(path, version)
  }
}

/** Clients that change topics of their own, one after the other, and fetch the version after each change. */
class Changes {
  readonly answers = new LongestWaits(clients)
  readonly #versions: Versions
  readonly #loops: Promise<void>[]
  #isStopping = false

  constructor(server: Server, { seed }: Random, versions: Versions) {
    this.#versions = versions
    this.#loops = Array.from({ length: clients }, (_, number) =>
      this.#run(server.connect(), number, randomFrom((seed + number) >>> 0)),
    )
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  async #run(client: Client, number: number, random: Random): Promise<void> {
    for (let value = 0; !this.#isStopping; value++) {
      const path = `order/${number}/${random.below(3)}`
      try {
        if (random.oneIn(4)) await this.#ask(client, number, 'remove', { path })
        await this.#ask(client, number, 'addAndSet', random.oneIn(4) ? { path, value: 0 } : { path, value })
        const { text } = await this.#ask(client, number, 'fetch', { path, with_version: true })
        this.#versions.note(path, (JSON.parse(text) as { version: number }).version)
      } catch (error) {
        // A worker that a reload ends closes its connections.
        if (!closed.has((error as NodeJS.ErrnoException).code ?? '')) this.#versions.wrong.push(`${path}: ${error}`)
      }
    }
  }

  async #ask(client: Client, number: number, route: string, body: object): Promise<Answer> {
    const answer = await this.answers.time(number, () => client.post(route, body))
    if (answer.status !== 200) throw new Error(`${route} was answered ${answer.status} ${answer.text}`)
    return answer
  }
}

async function killWriter(server: Server): Promise<void> {
  const writer = await until('a writer', async () => server.writerPid())
  process.kill(writer, 'SIGKILL')
  await until('the next writer', async () => ![undefined, writer].includes(server.writerPid()) || undefined)
}

t.test('no version goes back or is given twice', async (t) => {
  const random = seededRandom(t)
  const directory = t.testdir()
  const file = join(directory, 'set-back-ms')
  writeFileSync(file, '0')
  const program = patchedProgram(join(directory, 'program'), 'base/clock.js', clockSetBackBy(file))
  const dataDir = join(directory, 'db')
  const versions = new Versions()
  let token: string | undefined
  for (const start of [0, 1, 2]) {
    const isLast = start === 2
    const server = await startServer(t, {
      workers: 2,
      dataDir,
      program,
      token,
      ...(isLast ? {} : { exitCode: undefined, check: false }),
    })
    token = server.token
    const changes = new Changes(server, random, versions)
    await changes.answers.take()
    for (let round = 0; round < rounds; round++) {
      // Beside a writer that lives, and then before one that begins.
      writeFileSync(file, String((start * rounds + round + 1) * hourMs))
      await changes.answers.take()
      if (round === rounds - 1) t.match(await server.command('reload'), { code: 0 }, 'it reloads')
      else await killWriter(server)
      await changes.answers.take()
    }
    await changes.stop()
    t.strictSame(versions.wrong.slice(0, 5), [], `${changes.answers.answered} answers`)
    writeFileSync(file, String((start + 1) * rounds * hourMs + hourMs / 2))
    if (!isLast) await server.stop('SIGKILL')
  }
  t.equal(versions.last.size, 3 * clients, 'every topic was changed')
  t.ok(
    Math.min(...versions.last.values()) > Date.now() * 1024 - hourMs * 1024,
    'versions went on from the first of them',
  )
})
