/**
 * The items of topics by path, and the first items of key ranges, for fetches and for pages of plans without a matcher. Requests of
 * one turn of the event loop share a statement (connection/batcher.ts). A request that is too large for its share of a statement is
 * moved to a later statement, so that it does not delay small requests.
 */
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { KeyRange } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Absent } from '../../topics.js'
import { Batcher, type PutBack, type Request, type RequestGroup } from '../connection/batcher.js'
import { bytesArray, columnOf, plainArray, typeNumbers } from '../sql/columns.js'
import { byTypeAndKey, type Execute, type Statement, sameKey } from '../sql/statement.js'

interface ItemRow {
  readonly key: string
  readonly type: string
  /** Null if the item was too large, or the preceding items left no room. */
  readonly item: string | null
}

const readItem: Statement<ItemRow> = {
  name: 'read_item',
  text: 'select key, type, item from topicd.topics where key = $1::bytea',
}

/** The items of topics, except those with more than `$2` bytes: the size of an item is known without reading it. */
const readSmallItems: Statement<ItemRow> = {
  name: 'read_small_items',
  text: `
    select key, type, case when octet_length(item) <= $2::int then item end as item
    from topicd.topics where key = any($1::bytea[])`,
}

/** The items of topics, in the order requested, up to the one that brings the total to `$2` bytes. */
const readLargeItems: Statement<ItemRow> = {
  name: 'read_large_items',
  text: `
    select key, type, case when bytes < $2::bigint then item end as item
    from (
      select t.key, t.type, t.item, sum(octet_length(t.item)) over (order by v.place rows unbounded preceding) - octet_length(t.item) as bytes
      from unnest($1::bytea[]) with ordinality as v (key, place) join topicd.topics t on ${sameKey}
    ) found`,
}

/** Topics per statement. */
const topicsMax = 256

/** Larger items are read by `readLargeItems`, which returns items up to the one that reaches `largeBytesMax`. */
const smallBytesMax = 64 * 1024
const largeBytesMax = 8 * 1024 * 1024

/** Ranges per statement. */
const rangesMax = 32

/** The bytes that a range may return if it shares a statement. */
const sharedBytesMax = 1024 * 1024

const { within, order } = byTypeAndKey('q.type')

/**
 * The first items of several ranges. Each range has a limit on items and a limit on bytes. Its items end with the first one that takes
 * the total beyond the limit on bytes. At least two items are returned, so that the reader can tell a full page from the last one.
 */
const readRanges: Statement<{ place: string; item: string }> = {
  name: 'read_ranges',
  text: `
    select q.place, p.item
    from unnest($1::smallint[], $2::bytea[], $3::bytea[], $4::int[], $5::bigint[])
      with ordinality as q (type, start, stop, most, bytes, place)
    cross join lateral (
      select t.item, row_number() over w as number, sum(octet_length(t.item) + 1) over w - octet_length(t.item) - 2 as bytes
      from (
        select type, key, item from topicd.topics where ${within('q.start', 'q.stop')} order by ${order} limit q.most
      ) t
      window w as (order by t.type, t.key rows unbounded preceding)
    ) p
    where p.number <= 2 or p.bytes <= q.bytes
    order by q.place, p.number`,
}

/** Maximum batches of one kind in flight in this process: beyond a few, larger batches help more than additional ones. */
const inFlightMax = 2

interface TopicRequest extends Request {
  readonly id: string
  readonly key: Buffer
  readonly type: TopicType
  /** True if an earlier statement found its item too large. */
  readonly isLarge: boolean
  resolve(item: Uint8Array | Absent): void
}

interface RangeRequest extends Request {
  readonly range: KeyRange
  readonly type: TopicType
  readonly limit: number
  readonly bytesMax: number
  resolve(items: readonly string[]): void
}

export class SharedReads {
  readonly #topics = new Batcher<TopicRequest>((...batch) => this.#readTopics(...batch), inFlightMax, topicsMax)
  readonly #ranges = new Batcher<RangeRequest>((...batch) => this.#readRanges(...batch), inFlightMax, rangesMax)

  constructor(private readonly read: Execute) {}

  item(path: Path, type: TopicType): Promise<Uint8Array | Absent> {
    const key = encodeKey(path)
    const id = columnOf(key)
    const bytes = key.length
    return new Promise((resolve, reject) => this.#topics.add({ id, bytes, key, type, isLarge: false, resolve, reject }))
  }

  /** The first `limit` items of the type, up to the first that takes the total beyond `bytesMax`, but at least two. */
  items(range: KeyRange, type: TopicType, limit: number, bytesMax: number): Promise<readonly string[]> {
    const id = `${type} ${limit} ${bytesMax} ${range.start.toString('hex')} ${range.end.toString('hex')}`
    const bytes = range.start.length + range.end.length
    return new Promise((resolve, reject) =>
      this.#ranges.add({ id, bytes, range, type, limit, bytesMax, resolve, reject }),
    )
  }

  async #readTopics(groups: readonly RequestGroup<TopicRequest>[], putBack: PutBack<TopicRequest>): Promise<void> {
    const rows = await this.#readItems(groups)
    const rowsByKey = new Map(rows.map((row) => [row.key, row]))
    for (const group of groups) {
      const row = rowsByKey.get(group[0].id)
      if (row === undefined) for (const { resolve } of group) resolve('no_such_topic')
      else if (row.item === null) for (const request of group) putBack(request, { ...request, isLarge: true })
      else {
        const item = Buffer.from(row.item)
        for (const { type, resolve } of group)
          resolve(Number(row.type) === typeNumbers[type] ? item : 'incompatible_type')
      }
    }
  }

  #readItems(groups: readonly RequestGroup<TopicRequest>[]): Promise<readonly ItemRow[]> {
    const keys = groups.map(([{ key }]) => key)
    if (keys.length === 1) return this.read(readItem, keys)
    const hasLarge = groups.some(([{ isLarge }]) => isLarge)
    return hasLarge
      ? this.read(readLargeItems, [bytesArray(keys), largeBytesMax])
      : this.read(readSmallItems, [bytesArray(keys), smallBytesMax])
  }

  async #readRanges(groups: readonly RequestGroup<RangeRequest>[], putBack: PutBack<RangeRequest>): Promise<void> {
    const shareMax = groups.length === 1 ? Infinity : sharedBytesMax
    const bytes = groups.map(([{ bytesMax }]) => Math.min(bytesMax, shareMax))
    const rows = await this.read(readRanges, [
      plainArray(groups.map(([{ type }]) => typeNumbers[type])),
      bytesArray(groups.map(([{ range }]) => range.start)),
      bytesArray(groups.map(([{ range }]) => range.end)),
      plainArray(groups.map(([{ limit }]) => limit)),
      plainArray(bytes),
    ])
    const lists = groups.map((): string[] => [])
    for (const { place, item } of rows) lists[Number(place) - 1]?.push(item)
    for (const [i, group] of groups.entries()) {
      const [{ bytesMax, limit }] = group
      const items = lists[i] as string[]
      const isWhole = bytes[i] === bytesMax || items.length === limit || !isLonger(items, sharedBytesMax)
      if (isWhole) for (const { resolve } of group) resolve(items)
      // Infinite bytes close the batch, so no other range joins it.
      else for (const request of group) putBack(request, { ...request, bytes: Infinity })
    }
  }
}

/** Whether the items, each followed by a comma, are longer than `bytesMax`. */
function isLonger(items: readonly string[], bytesMax: number): boolean {
  return items.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0) > bytesMax
}
