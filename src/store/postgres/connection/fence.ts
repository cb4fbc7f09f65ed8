/**
 * Fenced reads: the result of a read is returned only after the engine has proved that it was still the primary. The proof is a
 * commit that starts after the read, on the same primary, and that the synchronous standby acknowledges. A promoted standby
 * acknowledges nothing to its predecessor. One commit serves all reads that are waiting for a proof at its start.
 */
import { StoreError } from '../../errors.js'
import { inTime, type Statement } from '../sql/statement.js'
import type { Connections } from './connections.js'

/**
 * Writes an empty message to the write-ahead log: it locks no row, so the fences of all processes run in parallel. Without a
 * synchronous standby it proves nothing, and returns no row.
 */
const commitNothing: Statement<{ lsn: string }> = {
  name: 'commit_nothing',
  text: `
    select pg_logical_emit_message(true, 'topicd', '') as lsn
    where current_setting('synchronous_standby_names') <> '' and ${inTime(1)}`,
}

/** Maximum attempts at a read whose rows and proof are from different primaries. */
const attemptsMax = 3

/** Rejects with StoreError `unavailable` if there was no proof. */
export type Fence = <T>(read: () => Promise<T>) => Promise<T>

export function createFence({ write, timeline }: Pick<Connections, 'write' | 'timeline'>): Fence {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | undefined

  async function commitOnce(): Promise<void> {
    await current.catch(() => {})
    next = undefined
    const committed = write(commitNothing, [])
    current = committed
    if ((await committed).length === 0) throw new Error('it no longer has a synchronous standby')
  }

  return async (read) => {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const before = timeline()
      const result = await read()
      try {
        await (next ??= commitOnce())
      } catch (cause) {
        throw new StoreError(
          'unavailable',
          `the PostgreSQL server did not prove that it is the primary: ${(cause as Error).message}`,
          { cause },
        )
      }
      if (timeline() === before) return result
    }
    throw new StoreError('unavailable', 'the primary changed during the read')
  }
}
