/** The log of changes on PostgreSQL, as tests read it: with the engine's own reader, in one statement. */
import assert from 'node:assert/strict'
import { decodeKey } from '../../../dist/topics/key.js'
import { execute } from './postgres-cluster.js'

export interface LoggedChange {
  readonly lane: number
  readonly n: bigint
  readonly version: bigint
  readonly paths: readonly string[]
}

/** Every row, by lane and number. */
export async function readLog(address: string): Promise<readonly LoggedChange[]> {
  const rows = await execute(address, 'select lane, n, version, keys from topicd.changes order by lane, n')
  return rows.map(({ lane, n, version, keys }) => ({
    lane: Number(lane),
    n: BigInt(n as string),
    version: BigInt(version as string),
    paths: (keys as Buffer[]).map((key) => decodeKey(key)),
  }))
}

/** Asserts that the rows of each lane have successive numbers; returns the lanes' numbers of rows. */
export function requireContiguous(log: readonly LoggedChange[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  let before: LoggedChange | undefined
  for (const row of log) {
    if (row.lane === before?.lane) assert.equal(row.n, before.n + 1n, `lane ${row.lane}`)
    counts.set(row.lane, (counts.get(row.lane) ?? 0) + 1)
    before = row
  }
  return counts
}

/** Appends so many rows to one lane, of a change each. */
export async function lengthenLane(address: string, rows: number): Promise<void> {
  await execute(
    address,
    `insert into topicd.changes (lane, n, version, count, total, keys)
     select last.lane, last.n + i, last.version + i, 1, last.total + i, array['a'::bytea]
     from (select * from topicd.changes order by lane, n desc limit 1) last, generate_series(1, ${rows}) i`,
  )
}

/** Makes everything that was written so far newer, as if the engine's clock had been set back since. */
export async function setClockBack(address: string, ms: number): Promise<void> {
  await execute(
    address,
    `update topicd.changes set version = version + ${ms * 1024};
     update topicd.topics set version = version + ${ms * 1024}`,
  )
}
