/**
 * Looks for every broken invariant of the log, alone and beside the topics, in a snapshot; changes nothing.
 *
 * A lane loses only its first rows. So from the first version that each lane still has, the log has every change, and a
 * topic whose version is not earlier is among the keys of a row with that version or a later one.
 */

import { waitForSlice } from '../../base/time-slices.js'
import { lanesCount } from '../../settings/limits.js'
import { decodeKey } from '../../topics/key.js'
import type { Finding } from '../maintenance.js'
import type { Snapshot } from './connection/snapshot.js'
import { bytesOf, columnsOf } from './sql/arrays.js'
import { clockVersion, type Statement } from './sql/statement.js'

/** Rows after one of a lane, in order, at most `$3` and with at most `$4` keys, or one. */
function rowsAfter<Row>(name: string, columns: string, where: string): Statement<Row> {
  return {
    name,
    text: `
    select lane, n, version, count, total, ${columns}
    from (
      select c.*, sum(c.count) over (order by c.lane, c.n rows unbounded preceding) - c.count as before
      from (
        select * from topicd.changes where (lane, n) > ($1::smallint, $2::bigint) and ${where} order by lane, n limit $3::int
      ) c
    ) w
    where before <= $4::bigint order by lane, n`,
  }
}

interface LogRow {
  readonly lane: string
  readonly n: string
  readonly version: string
  readonly count: string
  readonly total: string
}

/** The keys are as many as `count` says, if `keys` equals it. */
const readRows = rowsAfter<LogRow & { readonly keys: string }>('read_log', 'cardinality(keys) as keys', 'true')

const readRowsSince = rowsAfter<LogRow & { readonly keys: string }>('read_log_since', 'keys', 'version >= $5::bigint')

const readClock: Statement<{ version: string }> = {
  name: 'read_clock_version',
  text: `select ${clockVersion} as version`,
}

const rowsMax = 1000
const keysMax = 2000

/** Topics that are compared with the log at a time: each time, all of it is read. */
const topicsMax = 200_000

/** Checks the log, and then each topic's version against it. */
export class LogCheck {
  /** The latest version that a topic can have. */
  #latest = 0n
  /** Topics with this version or a later one are in the log. */
  #since = 0n
  /** Versions of topics that must be in the log, by their keys as columns. */
  #expected = new Map<string, bigint>()

  constructor(
    private readonly snapshot: Snapshot,
    private readonly report: (finding: Finding) => void,
  ) {}

  /** Checks the lanes, each by itself. */
  async checkLanes(): Promise<void> {
    const [clock] = await this.snapshot.read(readClock, [])
    this.#latest = BigInt(clock?.version ?? 0)
    const firsts = new Map<string, bigint>()
    let before: LogRow | undefined
    for await (const row of this.#rows(readRows, [])) {
      const version = BigInt(row.version)
      if (row.lane !== before?.lane) firsts.set(row.lane, version)
      for (const problem of problemsOf(row, row.lane === before?.lane ? before : undefined))
        this.report(`log: row ${row.n} of lane ${row.lane}: ${problem}`)
      if (version > this.#latest) this.#latest = version
      before = row
    }
    for (let lane = 0; lane < lanesCount; lane++)
      if (!firsts.has(String(lane))) this.report(`log: lane ${lane} has no row`)
    for (const first of firsts.values()) if (first > this.#since) this.#since = first
  }

  /** Checks the version of a topic. @param key as a column */
  async checkTopic(key: string, version: string): Promise<void> {
    const number = BigInt(version)
    if (number <= 0n) this.#reportTopic(key, `its version is ${number}`)
    if (number > this.#latest)
      this.#reportTopic(key, `its version ${number} is later than the server's clock and the log`)
    if (number < this.#since) return
    this.#expected.set(key, number)
    if (this.#expected.size >= topicsMax) await this.compareTopics()
  }

  /** Compares the topics that were checked with the log. */
  async compareTopics(): Promise<void> {
    const expected = this.#expected
    if (expected.size === 0) return
    for await (const { version, keys } of this.#rows(readRowsSince, [String(this.#since)])) {
      const logged = BigInt(version)
      for (const key of columnsOf(keys)) if (logged >= (expected.get(key) ?? logged + 1n)) expected.delete(key)
    }
    for (const [key, version] of expected) this.#reportTopic(key, `its change of version ${version} is not in the log`)
    expected.clear()
  }

  #reportTopic(key: string, problem: string): void {
    this.report(`topic "${decodeKey(bytesOf(key))}": ${problem}`)
  }

  async *#rows<Row extends LogRow>(statement: Statement<Row>, parameters: readonly string[]): AsyncGenerator<Row> {
    let last: Pick<LogRow, 'lane' | 'n'> | undefined = { lane: '-1', n: '0' }
    while (last !== undefined) {
      const rows: readonly Row[] = await this.snapshot.read(statement, [
        last.lane,
        last.n,
        rowsMax,
        keysMax,
        ...parameters,
      ])
      yield* rows
      last = rows.at(-1)
      await waitForSlice()
    }
  }
}

/** What is wrong with a row of the log. @param before the row before it in its lane; undefined for the first */
function* problemsOf(row: LogRow & { readonly keys: string }, before: LogRow | undefined): Generator<string> {
  const lane = Number(row.lane)
  if (lane < 0 || lane >= lanesCount) yield 'there is no such lane'
  if (row.keys !== row.count) yield `it has ${row.keys} keys, not ${row.count}`
  if (before === undefined) return
  if (BigInt(row.n) !== BigInt(before.n) + 1n) yield `the row before it is ${before.n}`
  if (BigInt(row.version) <= BigInt(before.version)) yield 'its version is not later than that of the row before it'
  if (BigInt(row.total) !== BigInt(before.total) + BigInt(row.count)) yield 'its total does not count on'
}
