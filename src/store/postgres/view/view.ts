/** Reads with separate statements, or all in one snapshot. */
import { waitForSlice } from '../../../base/time-slices.js'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import type { DuePlace, LogPosition, LogRecord, RecordTable, View } from '../../engine.js'
import type { Absent } from '../../topics.js'
import { readRecords } from '../records.js'
import { bytesOf } from '../sql/columns.js'
import type { Execute, Statement } from '../sql/statement.js'
import { rangesAtOnce } from './scan.js'
import type { SharedReads } from './shared-reads.js'
import { PostgresTopic, rowsAt } from './topics.js'

/** Rows of the log to read at a time. */
const logRowsMax = 256

const readDue: Statement<{ key: string; due: string; generation: string }> = {
  name: 'read_due',
  text: `
    select key, due, generation from topicd.topics
    where due >= $1::bigint and due <= $2::bigint and (due, key) > ($3::bigint, $4::bytea) order by due, key limit $5::int`,
}

interface LogRow {
  readonly version: string
  readonly total: string
  readonly keys: string
}

/** The rows of the log from a version onwards, until `$2` changes follow it; each row has the running total of changes. */
const readLog: Statement<LogRow> = {
  name: 'read_log',
  text: `
    select version, total, keys from (
      select l.*, lag(total) over (order by version) as before, first_value(total) over (order by version) as first
      from (select * from topicd.log where version >= $1::bigint order by version limit ${logRowsMax}) l
    ) w
    where before is null or before - first < $2::bigint order by version`,
}

const readLogEnd = (name: string, order: 'asc' | 'desc'): Statement<Pick<LogRow, 'version' | 'total'>> => ({
  name,
  text: `select version, total from topicd.log order by version ${order} limit 1`,
})

export const logEnds = {
  first: readLogEnd('read_log_first', 'asc'),
  last: readLogEnd('read_log_end', 'desc'),
} as const

export class PostgresView implements View {
  /** @param shared reads items together with those of other requests */
  constructor(
    private readonly read: Execute,
    private readonly shared: SharedReads,
  ) {}

  item(type: TopicType, path: Path): Promise<Uint8Array | Absent> {
    return this.shared.item(path, type)
  }

  readonly topics: View['topics'] = async (paths, type, wanted, bytesMax, take) => {
    if (paths.length === 0) return
    const bytes = Math.min(bytesMax, Number.MAX_SAFE_INTEGER)
    const rows = await rowsAt(this.read, paths.map(encodeKey), type, wanted, bytes)
    let next = 0
    for (const [i, path] of paths.entries()) {
      const row = rows[next]
      if (row === undefined || Number(row.place) > i + 1) {
        if (!take(path, undefined)) return
        continue
      }
      next++
      if (row.fits !== 'true' || !take(path, new PostgresTopic(path, row))) return
    }
  }

  readonly items: View['items'] = async (type, ranges, ahead, take) => {
    for (let from = 0, width = 1; from < ranges.length; from += width, width = rangesAtOnce) {
      const some = ranges.slice(from, from + width)
      const lists = await Promise.all(some.map((range) => this.shared.items(range, type, ahead.topics, ahead.bytes)))
      for (const items of lists) for (const item of items) if (!take(Buffer.from(item))) return
    }
  }

  async due(fromMs: number, untilMs: number, after: DuePlace | undefined, limit: number): Promise<readonly DuePlace[]> {
    const afterKey = after?.path === undefined ? Buffer.alloc(0) : encodeKey(after.path)
    const rows = await this.read(readDue, [fromMs, untilMs, after?.atMs ?? fromMs, afterKey, limit])
    return rows.map(({ key, due, generation: id }) => ({ atMs: Number(due), id, path: decodeKey(bytesOf(key)) }))
  }

  async record(table: RecordTable, name: string): Promise<Buffer | undefined> {
    return new Map(await readRecords(this.read, table)).get(name)
  }

  records(table: RecordTable): Promise<readonly (readonly [string, Buffer])[]> {
    return readRecords(this.read, table)
  }

  async log(version: number, keysAhead: number, take: (record: LogRecord) => boolean): Promise<void> {
    for (let from = version; ; ) {
      const rows = await this.read(readLog, [from, keysAhead])
      await waitForSlice()
      for (const row of rows) {
        // Skip the row that was taken last: this read started with it.
        if (Number(row.version) === from && from !== version) continue
        if (!take({ version: Number(row.version), total: Number(row.total), keys: bytesOf(row.keys) })) return
      }
      const last = rows.at(-1)
      if (last === undefined || Number(last.version) === from) return
      from = Number(last.version)
    }
  }

  async logEnd(end: 'first' | 'last'): Promise<LogPosition> {
    const [row] = await this.read(logEnds[end], [])
    if (row === undefined) throw new Error('the log of changes has no record')
    return { version: Number(row.version), total: Number(row.total) }
  }
}
