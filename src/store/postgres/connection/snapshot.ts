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

export interface Snapshot {
  /** Executes a statement in the snapshot. @throws StoreError `unavailable` when the engine is lost */
  readonly read: Execute
  /** Ends the transaction and gives the session back. */
  readonly close: () => Promise<void>
}

/**
 * Begins a snapshot on a session of the pool, to which it returns the session when it is closed.
 *
 * @throws StoreError `unavailable` when the engine cannot be reached
 */
export async function openSnapshot(session: Session, pool: Pool): Promise<Snapshot> {
  let isLost = false
  const read: Execute = async (statement, parameters) => {
    try {
      return await session.execute(statement, parameters, commitDeadlineMs)
    } catch (error) {
      isLost = true
      throw readFailure(error, meaningOf(error))
    }
  }
  const close = async (): Promise<void> => {
    if (!isLost) await read(endSnapshot, []).catch(() => {})
    if (isLost) pool.discard(session)
    else pool.release(session)
  }
  await read(beginSnapshot, []).catch(async (error: unknown) => {
    await close()
    throw error
  })
  return { read, close }
}
