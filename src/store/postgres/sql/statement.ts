/** Statements and shared SQL: the engine's clock, the time limit on writes, lookup of topics. Nothing is executed here. */
import type { TopicType } from '../../../topics/topic.js'
import { typeNumbers } from './columns.js'

/** A statement, prepared under its name. Each column of a `Row` is text or null. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Never set: only carries the type. */
  readonly row?: Row
}

/** A Buffer is sent unchanged, in the binary form of the parameter's type; columns.ts builds the binary form of arrays. */
export type Parameter = string | number | Buffer | null

export type Execute = <Row>(statement: Statement<Row>, parameters: readonly Parameter[]) => Promise<readonly Row[]>

/**
 * The engine's clock when the row is written, after any wait for a lock, as Unix time in whole ms. `date_part` returns a float8,
 * accurate to within a µs. `extract` has returned a numeric since PostgreSQL 14, which costs a tenth of an upsert's time.
 */
export const clockMs = `floor(date_part('epoch', clock_timestamp()) * 1000)::bigint`

export const readClock: Statement<{ now: string }> = { name: 'read_clock', text: `select ${clockMs} as now` }

/** The engine's clock at the start of the statement, as Unix time in whole ms. It can be used to search an index. */
export const startMs = `floor(date_part('epoch', now()) * 1000)::bigint`

/**
 * Joins topics `t` and rows `v` with equal keys so that each topic is looked up. Given an equality, the planner may choose a join
 * that reads all topics and compares each with all rows. While its statistics show almost no topics, that looks cheaper, and an
 * upload to a tree that was small a moment ago would take quadratic time.
 */
export const sameKey = 't.key = any(array[v.key])'

/** A condition that every topic meets; without it, the index by type and key is not used (schema.ts). */
export const hasType = 'type > 0'

/** The condition with which an index finds keys from one value up to another, and the order of those keys in the index. */
interface Index {
  readonly within: (from: string, to: string) => string
  readonly order: string
}

/** For both types. */
const byKey: Index = { within: (from, to) => `key >= ${from} and key < ${to}`, order: 'key' }

/** For one type. Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
export const byTypeAndKey = (type: string): Index => ({
  within: (from, to) => `${hasType} and (type, key) >= (${type}, ${from}) and (type, key) < (${type}, ${to})`,
  order: 'type, key',
})

type ExecuteOfType<Row> = (
  execute: Execute,
  type: TopicType | undefined,
  parameters: readonly Parameter[],
) => Promise<readonly Row[]>

/** A statement in two variants. @param typeParameter the number of the additional last parameter of the variant for one type */
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

/** SQLSTATE of a statement that started too late: in that case, `inTime` divides by zero. */
export const lateState = '22012'

/** SQLSTATE of a commit whose premises no longer hold (commit/function.ts). */
export const staleState = 'TD002'

/**
 * A condition for statements that change data. `write` in connection/connections.ts appends a time to the parameters. Before
 * that time, by the engine's clock, the condition is true; later, a statement that would change a row fails. So a write delayed by
 * a frozen link or process is not executed long after its client got an unknown outcome.
 *
 * @param number the number of that last parameter
 */
export function inTime(number: number): string {
  return `1 / (${clockMs} < $${number}::bigint)::int = 1`
}
