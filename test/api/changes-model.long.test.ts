/**
 * Writers change a tree at random while clients follow it by polls and streams. In the meantime, workers, writers and whole
 * services are killed, and rolling restarts replace all processes. No client sees a topic go back to an older value, part of
 * a batch, or a state without an acknowledged change, and no token is rejected. In the end each client's state equals a
 * fetch. SECONDS=600 runs longer, with more kinds of disturbance, and also over PostgreSQL.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FollowedTree, limitedKey } from '../support/load/followed-tree.js'
import { childrenOf } from '../support/machines/processes.js'
import { reportResults } from '../support/proof-results.js'
import { type Random, seededRandom } from '../support/random.js'
import { type Server, type StartOptions, startServer, until } from '../support/service/server.js'
import { eachKind } from '../support/stores/stores.js'

const seconds = Number(process.env.SECONDS ?? 0)

t.setTimeout((4 * seconds + 400) * 1000)

const workers = seconds > 0 ? 3 : 2

/** Pause between two disturbances, in ms. */
const calmMsMin = 200
const calmMsMax = 1500

/** Disturbances of the service, in turn. */
const allDisturbances = ['worker', 'writer', 'restart', 'worker in a restart', 'service'] as const
const disturbances = seconds > 0 ? allDisturbances : (['writer', 'worker in a restart', 'service'] as const)

/** A service that is disturbed repeatedly. */
class DisturbedService {
  readonly done: Record<string, number> = {}
  /** The running server; undefined while the service is down. */
  running: Server | undefined
  /** The server that was started last. */
  server: Server

  private constructor(
    private readonly start: (token?: string) => Promise<Server>,
    first: Server,
    private readonly random: Random,
  ) {
    this.server = first
    this.running = first
  }

  static async begin(t: Test, options: StartOptions, random: Random): Promise<DisturbedService> {
    const start = (token?: string): Promise<Server> =>
      startServer(t, { ...options, workers, token, exitCode: undefined, check: false })
    return new DisturbedService(start, await start(), random)
  }

  /** Applies the disturbance if possible: with PostgreSQL there is no writer. */
  async disturb(what: (typeof allDisturbances)[number]): Promise<void> {
    const { server, random } = this
    if (what === 'worker') this.#kill('workersKilled', random.pick(server.workerPids()))
    else if (what === 'writer') this.#kill('writersKilled', server.writerPid())
    else if (what === 'service') await this.#killAll()
    else {
      const ended = this.#restart()
      if (what === 'worker in a restart') {
        await new Promise((resolve) => setTimeout(resolve, random.below(1000)))
        this.#kill('workersKilled', random.pick(server.workerPids()))
      }
      await ended
    }
  }

  #kill(figure: string, pid: number | undefined): void {
    if (pid === undefined) return
    try {
      process.kill(pid, 'SIGKILL')
      this.#count(figure)
    } catch (error) {
      // The process had just exited.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  /** Resolves when a rolling restart has finished or failed. */
  async #restart(): Promise<void> {
    const { log } = this.server
    const ends = (): number => log.filter(({ msg }) => /^rolling restart (done|failed)$/.test(String(msg))).length
    const before = ends()
    this.server.signal('SIGHUP')
    await until('the rolling restart has ended', async () => ends() > before || undefined)
    this.#count('restarts')
  }

  /** Kills every process, the primary first or last, and restarts the service. */
  async #killAll(): Promise<void> {
    const { pid, token, exited } = this.server
    const pids = [pid, ...childrenOf(pid)]
    this.running = undefined
    for (const one of this.random.oneIn(2) ? pids : pids.reverse()) this.#kill('processesKilled', one)
    await exited
    this.#count('servicesKilled')
    this.server = await this.start(token)
    this.running = this.server
  }

  /** Waits until all workers serve, so that the next disturbance does not hit a service that is still starting. */
  whole(): Promise<unknown> {
    const { server } = this
    return until('all workers serve', async () => {
      const isReady = (await fetch(`${server.adminUrl}/readyz`)).ok
      return (isReady && server.workerPids().length === workers) || undefined
    })
  }

  #count(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1
  }
}

await eachKind(t, async (t, kind, makeStore) => {
  if (kind === 'PostgreSQL' && seconds === 0) return void t.comment('only with SECONDS')
  const random = seededRandom(t)
  const options = { dataDir: join(t.testdir(), 'db'), store: await makeStore() }
  const service = await DisturbedService.begin(t, options, random)
  const limited = await limitedKey(service.server)
  const followed = new FollowedTree({ target: () => service.running, limited, random })
  for (let i = 0, endMs = Date.now() + seconds * 1000; i < disturbances.length || Date.now() < endMs; i++) {
    await new Promise((resolve) => setTimeout(resolve, calmMsMin + random.below(calmMsMax - calmMsMin)))
    await service.disturb(disturbances[i % disturbances.length] ?? 'service')
    await service.whole()
  }
  await followed.stop()
  await followed.check(t, service.server)
  reportResults(t, { ...followed.results(), ...service.done })
  const check = await service.server.command('check')
  t.equal(check.code, 0, `the store is intact: ${check.stdout}${check.stderr}`)
})
