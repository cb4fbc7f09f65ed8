/**
 * Trimming the log: the process that holds the lease removes the rows that no place needs. Of each lane, a place needs the
 * last row before it and all later rows (read/log-place.ts). So a row may go once its lane's next row is old enough:
 *
 * - At least as young as the next row are more than `changesKept` changes. The log exceeds them by one commit of each lane.
 * - This process saw the next row at least `keptMsMin` ago, by its monotonic clock. A statement that waits while others append
 *   to its lane must find their numbers taken (sql/logged-statement.ts), and versions do not tell how old a row is once the
 *   engine's clock was set back.
 */

import type { Cancellation } from '../../../base/cancellation.js'
import { lanesCount } from '../../../settings/limits.js'
import { StoreError } from '../../errors.js'
import type { Connections } from '../connection/connections.js'
import type { Lease } from '../connection/lease.js'
import { type Execute, inTime, type Statement } from '../sql/statement.js'

/** Longer than any write is carried out after its request, in ms (connection/connections.ts). */
const keptMsMin = 30_000

/** Between two times that the log is trimmed, in ms. */
const trimMs = 10_000

/** Rows that one statement looks at, and removes but for one a lane: some ms of the engine's work. */
const rowsMax = 1000

/** Statements before due topics get their turn: each holds up to some thousand keys, so this outruns any writers. */
const statementsMax = 20

/** One row of each lane `l`, or nulls. @param order `asc` for the first, `desc` for the last */
function withRow(name: string, order: 'asc' | 'desc'): string {
  return `
    left join lateral (
      select c.n, c.version, c.count, c.total from topicd.changes c
      where c.lane = l.lane order by c.lane ${order}, c.n ${order} limit 1
    ) ${name} on true`
}

/** How long the log is, and the last number of each lane, with the greatest version of these rows. */
interface Lanes {
  readonly changes: string | null
  readonly numbers: string
  readonly version: string | null
}

const readLanes: Statement<Lanes> = {
  name: 'read_lanes',
  text: `
    select sum(last.total - first.total + first.count) as changes,
      array_agg(last.n order by l.lane) as numbers, max(last.version) as version
    from generate_series(0, ${lanesCount - 1}) as l (lane) ${withRow('first', 'asc')} ${withRow('last', 'desc')}`,
}

/**
 * Removes rows whose next row has less than `$1` changes before it. Looks at the `$2` oldest rows up to the lanes' numbers
 * `$3` and to their greatest version `$4`: after a failover that lost commits, younger rows may have these numbers.
 */
const removeUnneeded: Statement<{ count: string }> = {
  name: 'remove_unneeded_changes',
  text: `
    with oldest as (
      select c.lane, c.n, sum(c.count) over (order by c.version) - c.count as before
      from (
        select lane, n, version, count from topicd.changes
        where version <= $4::bigint and n <= ($3::bigint[])[lane + 1] order by version limit $2::int
      ) c
    ), needed as (
      select lane, max(n) as n from oldest where before < $1::bigint group by lane
    )
    delete from topicd.changes c using needed
    where c.lane = needed.lane and c.n < needed.n and ${inTime(5)}
    returning c.count`,
}

/**
 * @param changesKept how many changes stay, about
 * @returns what trims the log if that is due, for a bounded time. It rejects only for a defect: what remains is trimmed
 *   the next time
 */
export function createLogTrimming(
  { read, write }: { readonly read: Execute; readonly write: Connections['write'] },
  lease: Lease,
  changesKept: number,
): () => Promise<void> {
  let dueMs = 0
  /** The lanes as they were seen last, and when that was; renewed when it is as long ago as `removable` must be. */
  let seen: { readonly atMs: number; readonly lanes: Lanes } | undefined
  let removable: Lanes | undefined

  /** @returns whether nothing remains to be removed */
  async function trimUnless(lost: Cancellation): Promise<boolean> {
    const [lanes] = await read(readLanes, [])
    const nowMs = performance.now()
    if (lanes === undefined) return true
    if (seen === undefined || nowMs - seen.atMs >= keptMsMin) {
      removable = seen?.lanes
      seen = { atMs: nowMs, lanes }
    }
    if (removable === undefined) return true
    let excess = Number(lanes.changes) - changesKept
    for (let statement = 0; statement < statementsMax && !lost.aborted; statement++) {
      if (excess <= 0) return true
      const removed = await write(removeUnneeded, [excess, rowsMax, removable.numbers, removable.version])
      if (removed.length === 0) return true
      excess -= removed.reduce((sum, { count }) => sum + Number(count), 0)
    }
    return false
  }

  return async () => {
    if (performance.now() < dueMs) return
    try {
      const isDone = (await lease.whileHeld(trimUnless)) ?? true
      if (isDone) dueMs = performance.now() + trimMs
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      dueMs = performance.now() + trimMs
    }
  }
}
