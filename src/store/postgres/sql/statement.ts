/** Statements and shared SQL: the engine's clock, the time limit on writes, finding topics. Nothing is run here. */
import type { TopicType } from '../../../topics/topic.js'
import { typeNumbers } from './columns.js'

/** A statement, prepared under its name. Each column of a `Row` is text or null. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Never set: it carries the type. */
  readonly row?: Row
}

/** A Buffer is sent unchanged, in the binary form of the parameter's type; columns.ts makes those of arrays. */
export type Parameter = string | number | Buffer | null

export type Execute = <Row>(statement: Statement<Row>, parameters: readonly Parameter[]) => Promise<readonly Row[]>

/**
 * The engine's clock when the row is written, after any wait for a lock, in whole ms since the epoch. `date_part`
 * returns a float8, exact to less than a µs; `extract` returns a numeric since PostgreSQL 14, which costs a tenth of an
 * upsert's time.
 */
export const clockMs = `floor(date_part('epoch', clock_timestamp()) * 1000)::bigint`

export const readClock: Statement<{ now: string }> = { name: 'read_clock', text: `select ${clockMs} as now` }

/** The engine's clock when the statement began, in whole ms since the epoch: an index can be searched with it. */
export const startMs = `floor(date_part('epoch', now()) * 1000)::bigint`

/**
 * Joins topics `t` and rows `v` that have the same key, so that each topic is looked up. Of an equality the planner may make
 * a join that reads all topics and compares each with all rows: as long as its statistics say that there are hardly any
 * topics, that looks cheaper, and an upload to a tree that was small a moment ago would take quadratic time.
 */
export const sameKey = 't.key = any(array[v.key])'

/** A condition that every topic fulfills, and without which the index by type and key is not used (schema.ts). */
export const hasType = 'type > 0'

/** How an index finds the keys from one text up to another, and the order in which it does. */
interface Index {
  readonly within: (from: string, to: string) => string
  readonly order: string
}

/** Of both types. */
const byKey: Index = { within: (from, to) => `key >= ${from} and key < ${to}`, order: 'key' }

/** Of one type. Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
export const byTypeAndKey = (type: string): Index => ({
  within: (from, to) => `${hasType} and (type, key) >= (${type}, ${from}) and (type, key) < (${type}, ${to})`,
  order: 'type, key',
})

type ExecuteOfType<Row> = (
  execute: Execute,
  type: TopicType | undefined,
  parameters: readonly Parameter[],
) => Promise<readonly Row[]>

/** A statement in two variants. @param typeParameter the number of the last one, which the variant of one type has besides */
export function ofTypes<Row>(
  name: string,
  typeParameter: number,
  textBy: (index: Index) => string,
): ExecuteOfType<Row> {
  const ofBoth: Statement<Row> = { name, text: textBy(byKey) }
  const ofOne: Statement<Row> = { name: `${name}_of_type`, text: textBy(byTypeAndKey(`$${typeParameter}::smallint`)) }
  return (execute, type, parameters) =>
    type === undefined ? execute(ofBoth, parameters) : execute(ofOne, [...parameters, typeNumbers[type]])
}

/** SQLSTATE of a statement that began too late: `inTime` divides by zero then. */
export const lateState = '22012'

/** SQLSTATE of a commit whose decisions rely on what is not so any more (commit/function.ts). */
export const staleState = 'TD002'

/**
 * A condition for every statement that changes something. `write` in connection/connections.ts appends a time to the parameters.
 * Before that time, by the engine's clock, the condition is true; later, a statement that would change a row fails. So
 * a write that was delayed by a frozen link or process is not carried out long after its client was told that the
 * outcome is unknown.
 *
 * @param number of that last parameter
 */
export function inTime(number: number): string {
  return `1 / (${clockMs} < $${number}::bigint)::int = 1`
}
