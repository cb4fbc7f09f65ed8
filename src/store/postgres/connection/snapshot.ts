/** A read-only transaction at one point in time. Until closed, it holds a session and the rows that others remove. */
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
  /** @throws StoreError `unavailable` when the engine is lost */
  readonly read: Execute
  /** Ends the transaction and gives the session back. */
  readonly close: () => Promise<void>
}

/** Closing returns the session to the pool. @throws StoreError `unavailable` when the engine cannot be reached */
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
