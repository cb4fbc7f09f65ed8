/**
 * Trimming the log: the process that holds the lease removes the oldest rows, so that about as many changes stay as its
 * settings say. Of each lane it removes the first rows, and never the last one, so that what stays is contiguous and the
 * lane's numbers go on.
 *
 * A statement that waits while others append to its lane must find their numbers taken (sql/logged-statement.ts), so a
 * row must not be removed before it ends. Therefore a row goes only if this process saw a later one of its lane at least
 * `keptMsMin` ago, by its monotonic clock: versions do not tell a row's age once the engine's clock was set back.
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

/** Rows that one statement removes, about: some ms of the engine's work. */
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
 * Removes at most `$1` changes, of the `$2` oldest rows that precede the lanes' numbers `$3`, the greatest of whose
 * versions is `$4`; a lane's later row is never removed before an earlier one, and its last row never: after a fail-over
 * to a standby that was behind, the numbers may be those of rows that are gone.
 */
const removeOldest: Statement<{ count: string }> = {
  name: 'remove_oldest_changes',
  text: `
    with oldest as (
      select c.lane, c.n, sum(c.count) over (order by c.version, c.lane rows unbounded preceding) as sum
      from (
        select lane, n, version, count from topicd.changes
        where version < $4::bigint and n < ($3::bigint[])[lane + 1] order by version limit $2::int
      ) c
    ), removable as (
      select o.lane, least(max(o.n), (select max(l.n) - 1 from topicd.changes l where l.lane = o.lane)) as n
      from oldest o where o.sum <= $1::bigint group by o.lane
    )
    delete from topicd.changes c using removable r
    where c.lane = r.lane and c.n <= r.n and ${inTime(5)}
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
      if (excess < 0) return true
      const removed = await write(removeOldest, [excess, rowsMax, removable.numbers, removable.version])
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
