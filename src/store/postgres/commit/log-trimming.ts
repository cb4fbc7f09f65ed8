/** Trims the log: the process that holds the lease removes the oldest rows, beyond the number of changes to keep. */
import type { Cancellation } from '../../../base/cancellation.js'
import { StoreError } from '../../errors.js'
import type { Connections } from '../connection/connections.js'
import type { Lease } from '../connection/lease.js'
import { inTime, type Statement } from '../sql/statement.js'

/** Interval between trims of the log, in ms. */
const trimMs = 10_000

/** Rows per statement: a few ms of the engine's work. */
const rowsMax = 1000

/**
 * Maximum statements before due topics get their turn. Each removes rows with up to a few thousand keys, so trimming outpaces any
 * number of writers.
 */
const statementsMax = 20

/** Of the oldest `$2` rows, removes the ones that are followed by at least `$1` changes. The last row stays. */
const removeOldest: Statement<{ version: string }> = {
  name: 'remove_oldest_changes',
  text: `
    with last as (select version, total from topicd.log order by version desc limit 1)
    delete from topicd.log l using last
    where l.version = any(array(select version from topicd.log order by version limit $2::int))
      and l.total <= last.total - $1::bigint and l.version < last.version and ${inTime(3)}
    returning l.version`,
}

/**
 * @param changesKept the minimum number of changes to keep, in whole commits
 * @returns a function that trims the log if due, for a bounded time. It rejects only on a defect; the next call trims the rest
 */
export function createLogTrimming(
  { write }: Pick<Connections, 'write'>,
  lease: Lease,
  changesKept: number,
): () => Promise<void> {
  let dueMs = 0

  /** @returns whether the trim is complete */
  async function trimUnless(lost: Cancellation): Promise<boolean> {
    for (let statement = 0; statement < statementsMax && !lost.aborted; statement++) {
      if ((await write(removeOldest, [changesKept, rowsMax])).length < rowsMax) return true
    }
    return false
  }

  return async () => {
    if (performance.now() < dueMs) return
    const isDone = await lease.whileHeld(trimUnless).catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error
    })
    if (isDone !== false) dueMs = performance.now() + trimMs
  }
}
