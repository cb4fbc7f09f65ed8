/**
 * A snapshot: one transaction that only reads, so that all its statements see one moment. It holds a session until it
 * is closed, and until then the engine keeps what others remove.
 */
import { commitDeadlineMs } from '../../../settings/limits.js'
import type { Execute, Statement } from '../sql/statement.js'
import { meaningOf, readFailure } from './failures.js'
import type { Pool } from './pool.js'
import type { Session } from './session.js'

const beginSnapshot: Statement<never> = {
  name: 'begin_snapshot',
  text: 'begin transaction isolation level repeatable read, read only',
}

const endSnapshot: Statement<never> = { name: 'end_snapshot', text: 'commit' }

export class Snapshot {
  #failed = false

  private constructor(
    private readonly session: Session,
    private readonly pool: Pool,
  ) {}

  /**
   * Begins a snapshot on a session of the pool, to which it returns the session when it is closed.
   *
   * @throws StoreError `unavailable` when the engine cannot be reached
   */
  static async open(session: Session, pool: Pool): Promise<Snapshot> {
    const snapshot = new Snapshot(session, pool)
    try {
      await snapshot.read(beginSnapshot, [])
      return snapshot
    } catch (error) {
      await snapshot.close()
      throw error
    }
  }

  /** Executes a statement in the snapshot. @throws StoreError `unavailable` when the engine is lost */
  readonly read: Execute = async (statement, parameters) => {
    try {
      return await this.session.execute(statement, parameters, commitDeadlineMs)
    } catch (error) {
      this.#failed = true
      throw readFailure(error, meaningOf(error))
    }
  }

  /** Ends the transaction and gives the session back. */
  async close(): Promise<void> {
    if (!this.#failed) await this.read(endSnapshot, []).catch(() => {})
    if (this.#failed) this.pool.discard(this.session)
    else this.pool.release(this.session)
  }
}
