/**
 * The log of changes and the topics in one snapshot. Lanes are read one after the other: each has the changes of its
 * sessions in their order, and all of them together are a state of one moment.
 */
import { inSlice } from '../../../base/time-slices.js'
import { lanesCount } from '../../../settings/limits.js'
import { encodeKey } from '../../../topics/key.js'
import type { LoggedChanges, LogSnapshot } from '../../changes.js'
import { bytesArray, bytesOf, columnsOf as columnsOfArray, plainArray } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, type Statement, sameKey } from '../sql/statement.js'
import { columnsOf, type FormRow, itemOf } from './item-forms.js'
import { decodePlace, encodePlace, type LaneRow, laneRow, type Place } from './log-place.js'

/** Rows of one lane that are read at once. */
const laneRowsMax = 64

const storeId = `(select value from topicd.meta where name = 'store_id')`

const readEnd: Statement<{ lane: string; n: string; version: string; store: string }> = {
  name: 'read_log_end',
  text: `
    select l.lane, last.n, last.version, ${storeId} as store
    from generate_series(0, ${lanesCount - 1}) as l (lane)
    cross join lateral (
      select n, version from topicd.changes c where c.lane = l.lane order by c.lane desc, c.n desc limit 1
    ) last`,
}

interface LogRow {
  readonly lane: string
  readonly n: string
  readonly version: string
  /** Null for the row of the place itself. */
  readonly keys: string | null
  /** The number of the lane's last row. */
  readonly last: string
  readonly store: string
}

/**
 * Of each lane the row `$1` and those after it, in order, until they have `$2` keys together. Lane `$3` comes first.
 */
const readRows: Statement<LogRow> = {
  name: 'read_log_rows',
  text: `
    select lane, n, version, last, ${storeId} as store, case when own > 0 then keys end as keys
    from (
      select r.*, sum(own) over (order by (r.lane <> $3::int), r.lane, r.n rows unbounded preceding) - own as before
      from (
        select q.place - 1 as lane, last.n as last, c.n, c.version, c.keys, case when c.n > q.n then c.count else 0 end as own
        from unnest($1::bigint[]) with ordinality as q (n, place)
        cross join lateral (
          select n from topicd.changes c where c.lane = q.place - 1 order by c.lane desc, c.n desc limit 1
        ) last
        cross join lateral (
          select n, version, count, keys from topicd.changes c
          where c.lane = q.place - 1 and c.n >= q.n order by c.lane, c.n limit ${laneRowsMax}
        ) c
      ) r
    ) w
    where before < $2::bigint or own = 0
    order by (lane <> $3::int), lane, n`,
}

/**
 * The topics at these keys, in their order, of type `$6` if that is not null; what does not fit into `$4` bytes has
 * nulls, from the first on that exceeds them.
 */
const readItems: Statement<FormRow & { readonly place: string; readonly fits: string }> = {
  name: 'read_logged_items',
  text: `
    select place, key, type, (before <= $4::bigint)::text as fits, case when before <= $4::bigint then item end as item,
      case when before <= $4::bigint then properties end as properties, version
    from (
      select t.*, sum(bytes) over (order by place rows unbounded preceding) - bytes as before
      from (
        select f.*, coalesce(octet_length(f.item), octet_length(f.key)) + coalesce(octet_length(f.properties), 0) as bytes
        from (
          select v.place, t.key, t.type, case when $1::boolean then t.item end as item,
            case when $2::boolean then coalesce(t.properties, '{}') end as properties,
            case when $3::boolean then t.version end as version
          from unnest($5::bytea[]) with ordinality as v (key, place) join topicd.topics t on ${sameKey}
          where $6::smallint is null or t.type = $6::smallint
        ) f
      ) t
    ) w
    order by place`,
}

/** Where the keys of a row begin among those that were read. */
interface Run {
  readonly lane: number
  readonly row: LaneRow
  readonly firstIndex: number
  /** Keys of it that come before the first that was read. */
  readonly skipped: number
}

/** @param read reads in the snapshot */
export function createLogReads(read: Execute): LogSnapshot {
  return {
    async end() {
      const rows = await read(readEnd, [])
      const lanes = Array.from({ length: lanesCount }, () => laneRow('0', '0'))
      for (const { lane, n, version } of rows) lanes[Number(lane)] = laneRow(n, version)
      return encodePlace({ storeId: Number(rows[0]?.store), lanes, partial: undefined })
    },
    async changesAfter(bytes, keysMax, take) {
      const place = decodePlace(bytes)
      if (place === undefined) return inSlice((slice) => take('gone', slice))
      const numbers = plainArray(place.lanes.map(({ n }) => n))
      const rows = await read(readRows, [numbers, keysMax, place.partial?.lane ?? -1])
      return inSlice((slice) => take(changesOf(place, rows), slice))
    },
    async readItems(paths, form, bytesMax, take) {
      if (paths.length === 0) return
      const type = form.type === 'any' ? null : typeNumbers[form.type]
      const asked = bytesArray(paths.map(encodeKey))
      const rows = await read(readItems, [...columnsOf(form), bytesMax, asked, type])
      await inSlice(() => giveItems(paths.length, rows, take))
    },
  }
}

function giveItems(
  count: number,
  rows: readonly (FormRow & { readonly place: string; readonly fits: string })[],
  take: Parameters<LogSnapshot['readItems']>[3],
): void {
  let next = 0
  for (let place = 1; place <= count; place++) {
    const row = rows[next]
    if (row === undefined || Number(row.place) > place) {
      if (!take(undefined)) return
      continue
    }
    next++
    if (row.fits !== 'true' || !take(Buffer.from(itemOf(row)))) return
  }
}

function changesOf(place: Place, rows: readonly LogRow[]): LoggedChanges | 'gone' {
  const keys: string[] = []
  const runs: Run[] = []
  /** How many rows of each lane were not read. */
  const left = new Map<number, number>()
  for (const { lane: column, n, version, keys: array, last, store } of rows) {
    const lane = Number(column)
    const row = laneRow(n, version)
    const own = place.lanes[lane]
    if (!left.has(lane) && (Number(store) !== place.storeId || row.n !== own?.n || row.check !== own.check))
      return 'gone'
    left.set(lane, Number(last) - row.n)
    if (array === null) continue
    const isPartial = place.partial?.lane === lane && !runs.some((run) => run.lane === lane)
    if (isPartial && row.check !== place.partial?.check) return 'gone'
    const skipped = isPartial ? (place.partial?.keys ?? 0) : 0
    runs.push({ lane, row, firstIndex: keys.length, skipped })
    for (const key of columnsOfArray(array).slice(skipped)) keys.push(bytesOf(key).toString('latin1'))
  }
  const isLost = place.partial !== undefined && !runs.some(({ lane }) => lane === place.partial?.lane)
  if (left.size !== lanesCount || isLost) return 'gone'
  const isAll = [...left.values()].every((count) => count === 0)
  return { keys, isAll, placeAt: (index) => encodePlace(placeBefore(place, runs, index, keys.length)) }
}

/** The place before the key with this index, of `count` that follow the place. */
function placeBefore({ storeId, lanes, partial }: Place, runs: readonly Run[], index: number, count: number): Place {
  const reached = [...lanes]
  let within = partial
  for (const [i, { lane, row, firstIndex, skipped }] of runs.entries()) {
    const nextIndex = runs[i + 1]?.firstIndex ?? count
    if (index < nextIndex) {
      const keys = skipped + index - firstIndex
      if (keys > 0) within = { lane, keys, check: row.check }
      break
    }
    reached[lane] = row
    within = undefined
  }
  return { storeId, lanes: reached, partial: within }
}
