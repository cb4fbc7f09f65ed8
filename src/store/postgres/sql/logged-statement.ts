/**
 * Statements that change topics. Each is declared once and has two forms: as it is, and with the log, where the same
 * statement also appends the keys that it changed to a lane of the log (schema.ts), so that both are committed or
 * neither is.
 *
 * A lane's next number is that after its last row, as the statement's snapshot shows it, and the primary key admits each
 * number once. So whoever appends to a lane has seen the commit of every number before, and numbers become visible in
 * order, without gaps, whatever the sessions do. Of two sessions that append to one lane at the same time, the later
 * waits for the former's commit, and then conflicts with it. Each session has a lane of its own, as far as possible, so
 * that this is rare (connection/lanes.ts).
 *
 * A lane has no row that counts, which every append would update: while a dump or an export keeps old rows, each update
 * would have to step over all the earlier ones. After 30,000 of them that took 0.5 ms.
 *
 * The insertion is the only part that waits for a lane, and it needs the sum of all changed rows. So a transaction takes
 * its lane after all its topics, and waits for nothing afterwards: no two transactions deadlock.
 */
import { bytesArray, bytesOf } from './arrays.js'
import { inTime, type Parameter, type Statement } from './statement.js'

/** What a statement says of each topic that it changed. */
export interface ChangedRow {
  readonly key: string
  readonly version: string
}

export interface LoggedStatement<Row> {
  /** The statement with the log. The lane is the last parameter, after the time. */
  readonly logged: Statement<Row>
}

interface Change {
  /**
   * A statement that returns the key and the version of each topic that it changed: of a removed one, the version that it
   * would have had next.
   */
  readonly text: string
  /** How many parameters it has, the time included. */
  readonly parameters: number
  /** What is returned beside the key. */
  readonly columns?: readonly string[]
}

/** Both forms of a statement. The plain one is for transactions, and also returns the versions, for `appendChanges`. */
export function logged<Row extends { readonly key: string }>(
  name: string,
  { text, parameters, columns = [] }: Change,
): LoggedStatement<Row> & { readonly plain: Statement<Row & ChangedRow> } {
  const select = `select ${['key', ...columns].join(', ')} from changed`
  return { ...loggedParts<Row>(name, { ctes: `changed as (${text})`, parameters, select }), plain: { name, text } }
}

/** A logged statement with other parts than a change: one of its `ctes` is `changed`, as in `Change`. */
export function loggedParts<Row>(
  name: string,
  { ctes, parameters, select }: { readonly ctes: string; readonly parameters: number; readonly select: string },
): LoggedStatement<Row> {
  const total = 'select count(*)::int as count, max(version) as version, array_agg(key) as keys from changed'
  return {
    logged: {
      name: `${name}_logged`,
      text: `with ${ctes}, total as (${total}), appended as (${appendTotal(parameters + 1)}) ${select}`,
    },
  }
}

/** Appends what a transaction has changed. Its first parameters come from `appendParameters`. */
export const appendChanges: Statement<never> = {
  name: 'append_changes',
  text: `
    with total as (
      select $1::bytea[] as keys, $2::int as count, $3::bigint as version where ${inTime(4)}
    )
    ${appendTotal(5)}`,
}

/** The keys, how many they are, and their greatest version. */
export function appendParameters(changed: readonly ChangedRow[]): Parameter[] {
  const version = changed.reduce((greatest, row) => Math.max(greatest, Number(row.version)), 0)
  return [bytesArray(changed.map(({ key }) => bytesOf(key))), changed.length, version]
}

/**
 * Inserts the row of `total` as the next one of a lane, unless nothing was changed. A lane whose rows somebody has
 * deleted goes on far from its former numbers, so that no position in it is mistaken for one in the new rows.
 *
 * @param lane the number of the parameter with the lane
 */
function appendTotal(lane: number): string {
  return `
      insert into topicd.changes (lane, n, version, count, total, keys)
      select $${lane}::smallint, coalesce(last.n + 1, t.version), greatest(t.version, coalesce(last.version, 0) + 1),
        t.count, coalesce(last.total, 0) + t.count, t.keys
      from total t left join lateral (
        select n, version, total from topicd.changes where lane = $${lane}::smallint order by lane desc, n desc limit 1
      ) last on true
      where t.count > 0`
}
