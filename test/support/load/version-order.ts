/**
 * Clients that fetch the version of a topic after each of their changes, while the clock is set back by hours and
 * processes are killed: no version goes back. Each client has topics of its own, so it knows what comes after what.
 */
import type { Test } from 'tap'
import { type Random, randomFrom, seededRandom } from '../random.js'
import type { Answer, Client } from '../service/client.js'
import { type Server, type StartOptions, startServer } from '../service/server.js'
import { LongestWaits } from './longest-waits.js'

/** How far the clock is set back each time. */
export const hourMs = 3_600_000

const clients = 6
const topicsOfEach = 3
const starts = 3
const rounds = 3

/** How a request fails whose connection was closed: the change may have been made. */
const closed: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

interface VersionOrderOptions {
  readonly server: StartOptions
  /** Sets the clock back by this long in all. */
  readonly setClockBack: (ms: number) => unknown
  /** Has a process of the service replaced. After the last round, the service is killed and started again. */
  readonly disturb: (server: Server, isLastRound: boolean, random: Random) => Promise<void>
  /** Whether a topic that is created again has a greater version than before though the clock was set back. */
  readonly removes: boolean
  /** Whether no two topics have the same version. */
  readonly isUnique: boolean
}

/** All versions that were fetched, each after a change of its own. */
class Versions {
  readonly wrong: string[] = []
  /** The last one of each path. */
  readonly last = new Map<string, number>()
  readonly #seen = new Set<number>()

  constructor(private readonly isUnique: boolean) {}

  note(path: string, version: number): void {
    const before = this.last.get(path) ?? 0
    if (version <= before) this.wrong.push(`${path}: ${version} after ${before}`)
    else if (this.isUnique && this.#seen.has(version)) this.wrong.push(`${path}: ${version}, which another change has`)
    this.#seen.add(version)
    this.last.set(path, version)
  }
}

/** Clients that change topics of their own, one after the other, and fetch the version after each change. */
class Changes {
  readonly answers = new LongestWaits(clients)
  readonly #versions: Versions
  readonly #removes: boolean
  readonly #loops: Promise<void>[]
  #isStopping = false

  constructor(server: Server, { seed }: Random, versions: Versions, removes: boolean) {
    this.#versions = versions
    this.#removes = removes
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
      const path = `order/${number}/${random.below(topicsOfEach)}`
      try {
        if (this.#removes && random.oneIn(4)) await this.#ask(client, number, 'remove', { path })
        await this.#ask(client, number, 'addAndSet', random.oneIn(4) ? { path, value: 0 } : { path, value })
        const { text } = await this.#ask(client, number, 'fetch', { path, with_version: true })
        this.#versions.note(path, (JSON.parse(text) as { version: number }).version)
      } catch (error) {
        // A worker that ends closes its connections.
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

/** Asserts that no version goes back. @returns the last version of each topic */
export async function requireVersionOrder(
  t: Test,
  { server: options, setClockBack, disturb, removes, isUnique }: VersionOrderOptions,
): Promise<ReadonlyMap<string, number>> {
  const random = seededRandom(t)
  const versions = new Versions(isUnique)
  let token: string | undefined
  await setClockBack(0)
  for (let start = 0; start < starts; start++) {
    const isLast = start === starts - 1
    const server = await startServer(t, {
      workers: 2,
      ...options,
      token,
      ...(isLast ? {} : { exitCode: undefined, check: false }),
    })
    token = server.token
    const changes = new Changes(server, random, versions, removes)
    await changes.answers.take()
    for (let round = 0; round < rounds; round++) {
      // Beside processes that live, and then before one that begins.
      await setClockBack((start * rounds + round + 1) * hourMs)
      await changes.answers.take()
      await disturb(server, round === rounds - 1, random)
      await changes.answers.take()
    }
    await changes.stop()
    t.strictSame(versions.wrong.slice(0, 5), [], `${changes.answers.answered} answers`)
    await setClockBack((start + 1) * rounds * hourMs + hourMs / 2)
    if (!isLast) await server.stop('SIGKILL')
  }
  t.equal(versions.last.size, topicsOfEach * clients, 'every topic was changed')
  return versions.last
}
