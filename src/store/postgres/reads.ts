/**
 * Fetching: one topic, or a page of a plan. Topics asked for in one turn go out as one statement, and so do the ranges of
 * pages; a page of a plan without a matcher is one range of one index, its items copied as they are stored. With a matcher
 * only keys are scanned (scan.ts), and the items of matches are read by their keys.
 *
 * Every statement sees what was committed before it was sent, and what it sees is durable.
 */
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import type { Plan } from '../../topics/plan.js'
import { keyAfter, type KeyRange, rangesFrom } from '../../topics/range.js'
import type { TopicType } from '../../topics/topic.js'
import { type Absent, type Cancellation, Cancelled, type Page, type PageQuery } from '../store.js'
import { bytesArray, columnOf, plainArray } from './arrays.js'
import type { Connections, Read, Statement } from './connections.js'
import { createPageItems } from './page-items.js'
import { typeNumbers } from './rows.js'
import { type Ask, createRounds, type Group } from './rounds.js'
import { matchingKeys } from './scan.js'
import { inTurn } from './turns.js'

export interface Reads {
  readTopic(path: Path, type: TopicType): Promise<Uint8Array | Absent>
  readPage(query: PageQuery, cancellation: Cancellation): Promise<Page>
}

const readItems: Statement<{ key: string; type: string; item: string }> = {
  name: 'read_items',
  text: `select key, type, item from topicd.topics where key = any($1::bytea[])`,
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

/** Topics in one statement, and ranges: each may bring items of a megabyte, or a page of several. */
const topicsMax = 256
const rangesMax = 32

/** Ranges of one page that are read at once, after the first has not filled it. */
const rangesAtOnce = 8

interface TopicAsk extends Ask {
  readonly key: Buffer
  readonly type: TopicType
  resolve(found: Uint8Array | Absent): void
}

interface RangeAsk extends Ask {
  readonly type: TopicType
  readonly range: KeyRange
  readonly limit: number
  readonly bytesMax: number
  resolve(items: readonly string[]): void
}

/** @param scan for the statements of scans */
export function createReads({ read }: Connections, scan: Read): Reads {
  async function answerTopics(groups: readonly Group<TopicAsk>[]): Promise<void> {
    const rows = await read(readItems, [bytesArray(groups.map(([{ key }]) => key))])
    const found = new Map(rows.map((row) => [row.key, row]))
    for (const group of groups) {
      const row = found.get(group[0].id)
      const item = row && Buffer.from(row.item)
      for (const { type, resolve } of group) {
        if (row === undefined || item === undefined) resolve('no_such_topic')
        else resolve(Number(row.type) === typeNumbers[type] ? item : 'incompatible_type')
      }
    }
  }

  async function answerRanges(groups: readonly Group<RangeAsk>[]): Promise<void> {
    const alike = new Map<string, Group<RangeAsk>[]>()
    for (const group of groups) {
      const bounds = `${group[0].limit} ${group[0].bytesMax}`
      alike.set(bounds, [...(alike.get(bounds) ?? []), group])
    }
    await Promise.all([...alike.values()].map((same) => answerAlike(same)))
  }

  /** Ranges with the same bounds, in one statement. */
  async function answerAlike(groups: readonly Group<RangeAsk>[]): Promise<void> {
    const asks = groups.map(([ask]) => ask)
    const rows = await readInTurn(readRanges, [
      plainArray(asks.map(({ type }) => typeNumbers[type])),
      bytesArray(asks.map(({ range }) => range.start)),
      bytesArray(asks.map(({ range }) => range.end)),
      asks[0].limit,
      asks[0].bytesMax,
    ])
    const items: string[][] = asks.map(() => [])
    for (const { place, item } of rows) items[Number(place) - 1].push(item)
    for (const [place, group] of groups.entries()) for (const { resolve } of group) resolve(items[place])
  }

  const readInTurn = inTurn(read, readsInFlightMax)
  const joins = (): boolean => true
  const topics = createRounds({ joins, carryOut: answerTopics, inFlightMax: readsInFlightMax, groupsMax: topicsMax })
  const ranges = createRounds({ joins, carryOut: answerRanges, inFlightMax: readsInFlightMax, groupsMax: rangesMax })

  function readTopic(path: Path, type: TopicType): Promise<Uint8Array | Absent> {
    const key = encodeKey(path)
    return new Promise((resolve, reject) => topics.add({ id: columnOf(key), bytes: key.length, key, type, resolve, reject }))
  }

  function readRange(range: KeyRange, { type, size, bytesMax }: PageQuery): Promise<readonly string[]> {
    const limit = size + 1
    const id = `${type} ${limit} ${range.start.toString('hex')} ${range.end.toString('hex')}`
    const bytes = range.start.length + range.end.length
    return new Promise((resolve, reject) => ranges.add({ id, bytes, type, range, limit, bytesMax, resolve, reject }))
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
