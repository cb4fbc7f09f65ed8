/**
 * What a statement is to the rest of this folder, and the two clocks of the engine that statements read.
 */

/** A statement, prepared under its name; `Row` has a text, or null, for each column. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Never there: it carries the type. */
  readonly row?: Row
}

/** Buffers go out as they are, in the binary form of the parameter's type; arrays.ts makes those of arrays. */
export type Parameter = string | number | Buffer | null

export type Execute = <Row>(statement: Statement<Row>, parameters: readonly Parameter[]) => Promise<readonly Row[]>

/**
 * The engine's clock as it stands when the row is written, in whole ms since the epoch: later than any wait for a lock. `date_part`
 * gives a float8, exact to less than a µs; `extract` a numeric since PostgreSQL 14, which costs an upsert a tenth of its time.
 */
export const clockMs = `floor(date_part('epoch', clock_timestamp()) * 1000)::bigint`

/** The engine's clock as it stood when the statement began, in whole ms since the epoch: fit for an index. */
export const startMs = `floor(date_part('epoch', now()) * 1000)::bigint`

/** SQLSTATE of a statement that came too late: `inTime` divides by zero then. */
export const lateState = '22012'

/**
 * A condition for each statement that changes something: true before the moment, by the engine's clock, that `write` in
 * connections.ts appends to the parameters; later a statement that would change a row fails. So what a frozen link or process
 * holds back is not carried out long after its client was told that nobody knows.
 *
 * @param number the place of that last parameter
 */
export function inTime(number: number): string {
  return `1 / (${clockMs} < $${number}::bigint)::int = 1`
}
