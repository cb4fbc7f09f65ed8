/**
 * Ends sessions whose statement was given up, once their backend is idle: then the engine has answered, and the answer
 * was lost. Without this they would count in the pool (pool.ts) until the system notices that the link is broken.
 */

import type { Execute, Statement } from '../sql/statement.js'
import type { Pool } from './pool.js'

/** Which of these backends still execute a statement. */
const readBackends: Statement<{ pid: string }> = {
  name: 'read_backends',
  text: `select pid from pg_stat_activity where pid = any($1::int[]) and state is distinct from 'idle'`,
}

/** Between two checks, in ms. */
const checkMs = 1000

export class Reaper {
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly pool: Pool,
    private readonly read: Execute,
  ) {}

  /** Starts checking, until the pool has no given-up session left. */
  start(): void {
    this.#timer ??= this.#schedule()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #schedule(): NodeJS.Timeout {
    return setTimeout(() => void this.#reap(), checkMs).unref()
  }

  async #reap(): Promise<void> {
    try {
      const checked = this.pool.givenUp
      const rows = await this.read(readBackends, [`{${checked.map(({ backendId }) => backendId).join()}}`])
      const working = new Set(rows.map(({ pid }) => Number(pid)))
      // A session that was answered during the check may be in use again.
      const left = new Set(this.pool.givenUp)
      for (const session of checked)
        if (left.has(session) && !working.has(session.backendId)) this.pool.discard(session)
    } catch {
      // An engine that cannot be reached may still execute statements of these sessions.
    }
    this.#timer = this.pool.givenUp.length === 0 ? undefined : this.#schedule()
  }
}
