/**
 * Detects that the log has grown, while there are followers: immediately after a commit of this process, and otherwise by a small
 * read ten times a second. PostgreSQL's own notifications would lock the whole server at each commit.
 */
import type { Engine, LoggedRecord } from '../../engine.js'
import { Followers } from '../../followers.js'
import type { Execute } from '../sql/statement.js'
import { logEnds } from './view.js'

/** Interval between reads, in ms: the maximum delay before another process's commits are noticed. */
const pollMs = 100

export class LogFollower {
  readonly #followers = new Followers<LoggedRecord | undefined>(() => this.#watch())
  #polling: NodeJS.Timeout | undefined
  #isReading = false
  #isClosed = false
  /** The last version of which the followers were notified. */
  #last: number | undefined

  constructor(private readonly read: Execute) {}

  readonly follow: Engine['follow'] = (onGrown) => this.#followers.add(onGrown)

  /** Call after this process has committed changes to topics. */
  readonly committed = (record: LoggedRecord): void => {
    this.#last = record.version
    this.#followers.notify(record)
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#polling)
  }

  #watch(): void {
    clearInterval(this.#polling)
    if (!this.#followers.isWatching || this.#isClosed) return
    // Reset, so that the first poll notifies the followers: changes may have arrived since a follower's last read.
    this.#last = undefined
    this.#polling = setInterval(() => void this.#poll(), pollMs).unref()
    void this.#poll()
  }

  async #poll(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    // Undefined while the engine is down: followers notice that in their own reads.
    const [row] = await this.read(logEnds.last, []).catch(() => [])
    this.#isReading = false
    const last = row && Number(row.version)
    if (last === undefined || last !== this.#last) this.#followers.notify(undefined)
    this.#last = last
  }
}
