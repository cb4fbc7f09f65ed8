/** A service that is killed and restarted on the same data: which processes are killed, and when. The load is not defined here. */
import type { Results } from '../proof-results.js'
import type { Random } from '../random.js'
import { type Server, until } from '../service/server.js'

/** Interval at which to check whether a worker serves. */
const lookMs = 10

/** Time after which a rolling restart counts as hung. */
const restartMsMax = 300_000

export class KilledService {
  /** The service that clients use; undefined while there is no service. */
  running: Server | undefined
  workersKilled = 0
  writersKilled = 0
  primariesKilled = 0
  /** The longest time between two responses while at least one worker served. */
  readonly silence = new Silence()
  readonly #start: (token: string | undefined) => Promise<Server>
  readonly #killed = new Set<number>()
  #service: Server | undefined
  #initial: readonly number[] = []
  #restartsDone = 0
  #restartsBrokenOff = 0
  #commitsFailed = 0

  /** @param start starts the service, with the key of the previous start */
  constructor(start: (token: string | undefined) => Promise<Server>) {
    this.#start = start
  }

  /** The service that was started last. */
  get service(): Server {
    if (this.#service === undefined) throw new Error('nothing was started')
    return this.#service
  }

  /** Whether as many workers serve as after the start. */
  get isWhole(): boolean {
    return this.#serving().length >= this.#initial.length
  }

  /** @param earlier resolves when the previous service has exited, before clients use the new one */
  async start(earlier: () => Promise<unknown> = async () => {}): Promise<void> {
    const server = await this.#start(this.#service?.token)
    await earlier()
    this.#service = server
    this.#initial = server.workerPids()
    this.running = server
  }

  /**
   * Kills workers and writers, then the primary, and repeats this.
   *
   * @param onDeath called when all processes of a service are dead and no request has been sent to the next service
   */
  async killUntil(isOver: () => boolean, random: Random, onDeath: () => void): Promise<void> {
    const looking = setInterval(() => (this.#serves() ? this.silence.begin() : this.silence.end()), lookMs)
    try {
      while (!isOver()) {
        const kind = random.below(4)
        if (kind < 2) this.service.signal('SIGHUP')
        // One in four restarts is left to complete.
        if (kind === 0) await this.#restarted()
        await this.#killWorkers(isOver, random)
        if (isOver()) break
        await this.#killPrimary(random.oneIn(2), onDeath)
      }
    } finally {
      this.silence.end()
      clearInterval(looking)
      this.#countInLog()
    }
  }

  results(): Results {
    return {
      kills: this.workersKilled + this.writersKilled + this.primariesKilled,
      writers: this.writersKilled,
      primaries: this.primariesKilled,
      restartsDone: this.#restartsDone,
      restartsBrokenOff: this.#restartsBrokenOff,
      commitsFailed: this.#commitsFailed,
      silenceMsMax: Math.round(this.silence.maxMs),
    }
  }

  /** Workers that serve: the initial ones, and replacements that reported that they serve. */
  #serving(): readonly number[] {
    const server = this.running
    if (server === undefined) return []
    const later = server.log.flatMap(({ msg, worker }) => (msg === 'worker replaced' ? Number(worker) : []))
    const living = server.workerPids()
    return [...this.#initial, ...later].filter((pid) => living.includes(pid) && !this.#killed.has(pid))
  }

  #serves(): boolean {
    return this.#serving().length > 0
  }

  async #killWorkers(isOver: () => boolean, random: Random): Promise<void> {
    // Fewer than the number of consecutive failed starts after which a service exits.
    for (let left = 2 + random.below(6); left > 0 && !isOver(); left--) {
      await new Promise((resolve) => setTimeout(resolve, 50 + random.below(600)))
      const writer = this.service.writerPid()
      if (writer !== undefined && random.oneIn(3)) {
        if (this.#kill(writer)) this.writersKilled++
        continue
      }
      const pids = this.service.workerPids()
      if (pids.length > 0 && this.#kill(random.pick(pids))) this.workersKilled++
    }
  }

  /** @param isAtOnce whether the next service starts while the processes of this one are still exiting */
  async #killPrimary(isAtOnce: boolean, onDeath: () => void): Promise<void> {
    const { service } = this
    this.#countInLog()
    this.running = undefined
    this.silence.end()
    if (this.#kill(service.pid)) this.primariesKilled++
    if (!isAtOnce) await service.exited
    await this.start(async () => {
      await service.exited
      onDeath()
    })
  }

  /** @returns false if the process has just exited on its own */
  #kill(pid: number): boolean {
    this.#killed.add(pid)
    try {
      return process.kill(pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
      throw error
    }
  }

  async #restarted(): Promise<void> {
    const { log } = this.service
    const isEnd = ({ msg }: (typeof log)[number]): boolean => /^rolling restart (done|failed)$/.test(String(msg))
    await until('the rolling restart has ended', async () => log.some(isEnd) || undefined, restartMsMax)
  }

  /** Counts log messages of the service. Nothing here breaks its commits, but lmdb occasionally fails one. */
  #countInLog(): void {
    const count = (wanted: string): number => this.service.log.filter(({ msg }) => msg === wanted).length
    this.#commitsFailed += count('commit failed; the writer exits')
    const done = count('rolling restart done')
    this.#restartsDone += done
    this.#restartsBrokenOff += count('rolling restart') - done
  }
}

/** The longest time during which a service that was able to respond sent no response. */
class Silence {
  maxMs = 0
  #sinceMs: number | undefined

  /** Called when a worker is able to respond; has no effect if one already was. */
  begin(): void {
    this.#sinceMs ??= performance.now()
  }

  answered(): void {
    if (this.#sinceMs === undefined) return
    this.#measure(this.#sinceMs)
    this.#sinceMs = performance.now()
  }

  /** Called when no worker is able to respond. */
  end(): void {
    if (this.#sinceMs !== undefined) this.#measure(this.#sinceMs)
    this.#sinceMs = undefined
  }

  #measure(sinceMs: number): void {
    this.maxMs = Math.max(this.maxMs, performance.now() - sinceMs)
  }
}
