/** The log of changes on PostgreSQL, which tests read and change with direct SQL statements. */
import { pathsIn } from './environment.js'
import { execute } from './postgres-cluster.js'

export interface LoggedCommit {
  readonly version: bigint
  readonly total: bigint
  readonly paths: readonly string[]
}

/** Every row, in order. */
export async function readLog(address: string): Promise<readonly LoggedCommit[]> {
  const rows = await execute(address, 'select version, total, keys from topicd.log order by version')
  return rows.map(({ version, total, keys }) => ({
    version: BigInt(version as string),
    total: BigInt(total as string),
    paths: pathsIn(keys as Buffer),
  }))
}

/** Appends `rows` rows of one change each. */
export async function lengthenLog(address: string, rows: number): Promise<void> {
  await execute(
    address,
    `insert into topicd.log (version, total, keys)
     select last.version + i, last.total + i, '\\x000161'
     from (select * from topicd.log order by version desc limit 1) last, generate_series(1, ${rows}) i`,
  )
}

/** Makes all rows written so far newer, as if the engine's clock had been set back since then. */
export async function setClockBack(address: string, ms: number): Promise<void> {
  await execute(
    address,
    `update topicd.log set version = version + ${ms * 1024};
     update topicd.topics set version = version + ${ms * 1024}`,
  )
}
