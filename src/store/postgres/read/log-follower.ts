/**
 * Notices that the log has grown, while somebody follows it: at once after a commit of this process, and otherwise by a
 * small read ten times a second. PostgreSQL's own notifications would take a lock of the whole server at each commit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { lanesCount } from '../../../settings/limits.js'
import { Followers } from '../../followers.js'
import type { Execute, Statement } from '../sql/statement.js'

/** Between two reads, in ms: the delay of what another process has committed. */
const pollMs = 100

/** What every commit that changes topics makes another one. */
const readLasts: Statement<{ lasts: string }> = {
  name: 'read_log_lasts',
  text: `
    select array_agg(last.version order by l.lane) as lasts
    from generate_series(0, ${lanesCount - 1}) as l (lane)
    cross join lateral (
      select version from topicd.changes c where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) last`,
}

export class LogFollower {
  readonly #followers = new Followers(() => void this.#poll())
  #isPolling = false
  #isClosed = false
  /** Ends the wait for the next read; undefined while one is in flight. */
  #wake: AbortController | undefined
  /** Whether this process has committed since the last read began. */
  #isDue = false

  constructor(private readonly read: Execute) {}

  readonly followLog = (onGrown: () => void): (() => void) => this.#followers.add(onGrown)

  /** This process has committed something. */
  committed(): void {
    if (!this.#followers.isWatching) return
    this.#isDue = true
    this.#wake?.abort()
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.abort()
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    let lasts: string | undefined
    while (this.#followers.isWatching && !this.#isClosed) {
      this.#isDue = false
      const read = await this.#readLasts()
      // The first time nobody knows what has come since a follower read.
      if (read === undefined || read !== lasts) this.#followers.notify()
      lasts = read
      if (!this.#isDue) await this.#wait()
    }
    this.#isPolling = false
  }

  /** Undefined while the engine is away: those that follow the log learn so from their own reads. */
  async #readLasts(): Promise<string | undefined> {
    try {
      return (await this.read(readLasts, []))[0]?.lasts
    } catch {
      return undefined
    }
  }

  async #wait(): Promise<void> {
    this.#wake = new AbortController()
    await sleep(pollMs, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {})
    this.#wake = undefined
  }
}
