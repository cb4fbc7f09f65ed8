/**
 * Fetching: one topic, or a page of a plan. Topics asked for in one turn go out as one statement, and so do the ranges of
 * pages; a page of a plan without a matcher is one range of one index, its items copied as they are stored. With a matcher
 * only keys are scanned (scan.ts), and the items of matches are read by their keys.
 *
 * Every statement sees what was committed before it was sent, and what it sees is durable.
 */

import type { Plan } from '../../selectors/plan.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../topics/range.js'
import type { TopicType } from '../../topics/topic.js'
import { type Absent, type Cancellation, Cancelled, type Page, type PageQuery } from '../store.js'
import { bytesArray, columnOf, plainArray } from './arrays.js'
import { createBatcher, type Request, type RequestGroup } from './batcher.js'
import { limitConcurrency } from './limit.js'
import { createPageItems } from './page-items.js'
import { typeNumbers } from './rows.js'
import { matchingKeys } from './scan.js'
import type { Execute, Statement } from './statement.js'

export interface Reads {
  readTopic(path: Path, type: TopicType): Promise<Uint8Array | Absent>
  readPage(query: PageQuery, cancellation: Cancellation): Promise<Page>
}

interface ItemRow {
  readonly key: string
  readonly type: string
  /** Null for one that was too large, or that others have left no room for. */
  readonly item: string | null
}

const readItem: Statement<ItemRow> = {
  name: 'read_item',
  text: 'select key, type, item from topicd.topics where key = $1::bytea',
}

/** The items of topics, but for those of more than `$2` bytes: the size of an item is known without reading it. */
const readSmallItems: Statement<ItemRow> = {
  name: 'read_small_items',
  text: `
    select key, type, case when octet_length(item) <= $2::int then item end as item
    from topicd.topics where key = any($1::bytea[])`,
}

/** The items of topics, in the order of asking, as long as they make `$2` bytes together, and then one. */
const readLargeItems: Statement<ItemRow> = {
  name: 'read_large_items',
  text: `
    select key, type, case when bytes < $2::bigint then item end as item
    from (
      select t.key, t.type, t.item, sum(octet_length(t.item)) over (order by a.place rows unbounded preceding) - octet_length(t.item) as bytes
      from unnest($1::bytea[]) with ordinality as a (key, place) join topicd.topics t on t.key = a.key
    ) found`,
}

/**
 * The first items of several ranges: at most `$4` of each, and no more than make `$5` bytes and then one, so that the reader
 * can tell a full page from a finished one. Written with both columns on both sides, so that only the index by type and
 * key can serve it.
 */
const readRanges: Statement<{ place: string; item: string }> = {
  name: 'read_ranges',
  text: `
    select q.place, p.item
    from unnest($1::smallint[], $2::bytea[], $3::bytea[]) with ordinality as q (type, start, stop, place)
    cross join lateral (
      select t.item, row_number() over w as number, sum(octet_length(t.item) + 1) over w - octet_length(t.item) - 2 as bytes
      from (
        select type, key, item from topicd.topics
        where (type, key) >= (q.type, q.start) and (type, key) < (q.type, q.stop)
        order by type, key limit $4::int
      ) t
      window w as (order by t.type, t.key rows unbounded preceding)
    ) p
    where p.number <= 2 or p.bytes <= $5::bigint
    order by q.place, p.number`,
}

/** The first of these topics in tree order: no more than make `$3` bytes and then one. */
const readMatches: Statement<{ item: string }> = {
  name: 'read_matches',
  text: `
    select p.item
    from (
      select key, item, sum(octet_length(item)) over (order by key rows unbounded preceding) - octet_length(item) as bytes
      from topicd.topics where key = any($2::bytea[]) and type = $1::smallint
    ) p
    where p.bytes <= $3::bigint order by p.key`,
}

/** Statements of one kind under way in this process: beyond a few, sharing them is worth more than one more of them. */
const readsInFlightMax = 2

/** Topics in one statement, and ranges. */
const topicsMax = 256
const rangesMax = 32

/** An item of more bytes is large: large ones are read in statements of their own, as many as make `largeBytesMax`, and then one. */
const smallBytesMax = 64 * 1024
const largeBytesMax = 8 * 1024 * 1024

/** Bytes that a range brings beside others; one that has more is read by itself. */
const sharedBytesMax = 1024 * 1024

/** Ranges of one page that are read at once, after the first has not filled it. */
const rangesAtOnce = 8

interface TopicRequest extends Request {
  readonly key: Buffer
  readonly type: TopicType
  /** Whether a look has shown that its item is. */
  readonly isLarge: boolean
  resolve(found: Uint8Array | Absent): void
}

interface RangeRequest extends Request {
  readonly type: TopicType
  readonly range: KeyRange
  readonly limit: number
  readonly bytesMax: number
  resolve(items: readonly string[]): void
}

/**
 * @param read for one statement
 * @param scan for the statements of scans
 */
export function createReads(read: Execute, scan: Execute): Reads {
  async function answerTopics(groups: readonly RequestGroup<TopicRequest>[]): Promise<void> {
    const rows = await readItems(groups)
    const found = new Map(rows.map((row) => [row.key, row]))
    const left: TopicRequest[] = []
    for (const group of groups) {
      const row = found.get(group[0].id)
      if (row === undefined) for (const { resolve } of group) resolve('no_such_topic')
      else if (row.item === null) left.push(...group.map((request) => ({ ...request, isLarge: true })))
      else {
        const item = Buffer.from(row.item)
        for (const { type, resolve } of group)
          resolve(Number(row.type) === typeNumbers[type] ? item : 'incompatible_type')
      }
    }
    if (left.length > 0) topics.addAhead(left)
  }

  function readItems(groups: readonly RequestGroup<TopicRequest>[]): Promise<readonly ItemRow[]> {
    const keys = groups.map(([{ key }]) => key)
    if (keys.length === 1) return read(readItem, keys)
    const hasLarge = groups.some(([{ isLarge }]) => isLarge)
    return hasLarge
      ? read(readLargeItems, [bytesArray(keys), largeBytesMax])
      : read(readSmallItems, [bytesArray(keys), smallBytesMax])
  }

  async function answerRanges(groups: readonly RequestGroup<RangeRequest>[]): Promise<void> {
    const alike = new Map<string, RequestGroup<RangeRequest>[]>()
    for (const group of groups) {
      const bounds = `${group[0].limit} ${group[0].bytesMax}`
      alike.set(bounds, [...(alike.get(bounds) ?? []), group])
    }
    await Promise.all([...alike.values()].map((same) => answerAlike(same)))
  }

  /** Ranges with the same bounds, in one statement. */
  async function answerAlike(groups: readonly RequestGroup<RangeRequest>[]): Promise<void> {
    const requests = groups.map(([request]) => request)
    const bytesMax = requests.length === 1 ? requests[0].bytesMax : Math.min(requests[0].bytesMax, sharedBytesMax)
    const rows = await readInTurn(readRanges, [
      plainArray(requests.map(({ type }) => typeNumbers[type])),
      bytesArray(requests.map(({ range }) => range.start)),
      bytesArray(requests.map(({ range }) => range.end)),
      requests[0].limit,
      bytesMax,
    ])
    const items: string[][] = requests.map(() => [])
    for (const { place, item } of rows) items[Number(place) - 1].push(item)
    const left: RangeRequest[] = []
    for (const [place, group] of groups.entries()) {
      const isWhole =
        bytesMax === requests[place].bytesMax ||
        items[place].length === requests[place].limit ||
        !isBeyond(items[place], bytesMax)
      if (isWhole) for (const { resolve } of group) resolve(items[place])
      // A round ends with the ask that makes it large enough.
      else left.push(...group.map((request) => ({ ...request, bytes: Infinity })))
    }
    if (left.length > 0) ranges.addAhead(left)
  }

  const readInTurn = limitConcurrency(read, readsInFlightMax)
  const canShare = (): boolean => true
  const topics = createBatcher({ canShare, execute: answerTopics, inFlightMax: readsInFlightMax, groupsMax: topicsMax })
  const ranges = createBatcher({ canShare, execute: answerRanges, inFlightMax: readsInFlightMax, groupsMax: rangesMax })

  function readTopic(path: Path, type: TopicType): Promise<Uint8Array | Absent> {
    const key = encodeKey(path)
    return new Promise((resolve, reject) =>
      topics.add({
        id: columnOf(key),
        bytes: key.length,
        sinceMs: performance.now(),
        key,
        type,
        isLarge: false,
        resolve,
        reject,
      }),
    )
  }

  function readRange(range: KeyRange, { type, size, bytesMax }: PageQuery): Promise<readonly string[]> {
    const limit = size + 1
    const id = `${type} ${limit} ${range.start.toString('hex')} ${range.end.toString('hex')}`
    const bytes = range.start.length + range.end.length
    const request = { id, bytes, sinceMs: performance.now(), type, range, limit, bytesMax }
    return new Promise((resolve, reject) => ranges.add({ ...request, resolve, reject }))
  }

  async function plainPage(query: PageQuery, planned: readonly KeyRange[], cancellation: Cancellation): Promise<Page> {
    const page = createPageItems(query)
    for (let from = 0, width = 1; from < planned.length; from += width, width = rangesAtOnce) {
      if (cancellation.cancelled) throw new Cancelled()
      const lists = await Promise.all(planned.slice(from, from + width).map((range) => readRange(range, query)))
      for (const items of lists) for (const item of items) if (!page.add(item)) return page.finish(true)
    }
    return page.finish(false)
  }

  async function matchedPage(query: PageQuery, plan: Plan, cancellation: Cancellation): Promise<Page> {
    const { type, size, bytesMax } = query
    const page = createPageItems(query)
    for await (const keys of matchingKeys(scan, plan, type, cancellation)) {
      for (let from = 0; from < keys.length; ) {
        const room = size - page.count()
        if (room === 0 || page.bytes() > bytesMax) return page.finish(true)
        const some = keys.slice(from, from + room)
        from += room
        const rows = await scan(readMatches, [typeNumbers[type], bytesArray(some), bytesMax])
        for (const { item } of rows) if (!page.add(item)) return page.finish(true)
        // A first item beyond the bound fills the page, and whatever was to follow it was not sent.
        if (page.bytes() > bytesMax && some.length > 1) return page.finish(true)
      }
    }
    return page.finish(false)
  }

  return {
    readTopic,
    readPage(query, cancellation) {
      const { plan, after } = query
      const left = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
      if (plan.matcher === undefined) return plainPage(query, left, cancellation)
      return matchedPage(query, { ranges: left, matcher: plan.matcher }, cancellation)
    },
  }
}

/** Whether items, as an array of them, have more bytes than that: no character has more than three for each unit of its string. */
function isBeyond(items: readonly string[], bytesMax: number): boolean {
  const units = items.reduce((sum, { length }) => sum + length + 1, 0)
  return units * 3 > bytesMax && items.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0) > bytesMax
}
