/**
 * Notices that the log has grown, while somebody follows it: at once after a commit of this process, and otherwise by a
 * small read ten times a second. PostgreSQL's own notifications would take a lock of the whole server at each commit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, LoggedRecord } from '../../engine.js'
import { Followers } from '../../followers.js'
import type { Execute } from '../sql/statement.js'
import { logEnds } from './view.js'

/** Between two reads, in ms: the delay of what another process has committed. */
const pollMs = 100

export class LogFollower {
  readonly #followers = new Followers<LoggedRecord | undefined>(() => void this.#poll())
  #isPolling = false
  #isClosed = false
  /** Ends the wait for the next read; undefined while one is in flight. */
  #wake: AbortController | undefined
  /** The last version that the followers were told of. */
  #last: number | undefined

  constructor(private readonly read: Execute) {}

  readonly follow: Engine['follow'] = (onGrown) => this.#followers.add(onGrown)

  /** This process has committed changes of topics. */
  committed(record: LoggedRecord): void {
    this.#last = record.version
    this.#followers.notify(record)
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.abort()
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    // The first time nobody knows what has come since a follower read.
    this.#last = undefined
    while (this.#followers.isWatching && !this.#isClosed) {
      const last = await this.#readLast()
      if (last === undefined || last !== this.#last) this.#followers.notify(undefined)
      this.#last = last
      await this.#wait()
    }
    this.#isPolling = false
  }

  /** Undefined while the engine is away: those that follow the log learn so from their own reads. */
  async #readLast(): Promise<number | undefined> {
    try {
      return Number((await this.read(logEnds.last, []))[0]?.version)
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
