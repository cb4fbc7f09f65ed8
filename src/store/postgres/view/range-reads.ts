/**
 * Reading the first items of key ranges, for pages of plans without a matcher. Ranges requested in one turn of the
 * event loop with the same limits share a statement. A range whose items exceed its share of such a statement is read
 * again by itself.
 */
import type { KeyRange } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import { Batcher, type PutBack, type Request, type RequestGroup } from '../connection/batcher.js'
import { bytesArray, plainArray } from '../sql/arrays.js'
import { limitConcurrency } from '../sql/concurrency.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, hasType, readsInFlightMax, type Statement } from '../sql/statement.js'

/**
 * The first items of several ranges: at most `$4` of each, up to the first that exceeds `$5` bytes, and two at least,
 * so that the reader can tell a full page from the last one. Both columns are on both sides of each comparison, so that
 * only the index by type and key can serve it.
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
        where ${hasType} and (type, key) >= (q.type, q.start) and (type, key) < (q.type, q.stop)
        order by type, key limit $4::int
      ) t
      window w as (order by t.type, t.key rows unbounded preceding)
    ) p
    where p.number <= 2 or p.bytes <= $5::bigint
    order by q.place, p.number`,
}

/** Ranges per statement. */
const rangesMax = 32

/** The bytes that a range may return when it shares a statement. */
const sharedBytesMax = 1024 * 1024

interface RangeRequest extends Request {
  readonly type: TopicType
  readonly range: KeyRange
  readonly limit: number
  readonly bytesMax: number
  resolve(items: readonly string[]): void
}

/** Groups with the same limits, for one statement. */
interface RangeBatch {
  readonly limit: number
  readonly bytesMax: number
  readonly groups: RequestGroup<RangeRequest>[]
}

export class RangeReads {
  readonly #read: Execute
  readonly #batcher: Batcher<RangeRequest>

  constructor(read: Execute) {
    this.#read = limitConcurrency(read, readsInFlightMax)
    this.#batcher = new Batcher({
      execute: (groups, putBack) => this.#execute(groups, putBack),
      inFlightMax: readsInFlightMax,
      groupsMax: rangesMax,
    })
  }

  /** The first `limit` items of the type, up to the first that exceeds `bytesMax`, and two at least. */
  read(range: KeyRange, type: TopicType, limit: number, bytesMax: number): Promise<readonly string[]> {
    const id = `${type} ${limit} ${range.start.toString('hex')} ${range.end.toString('hex')}`
    const bytes = range.start.length + range.end.length
    const request = { id, bytes, type, range, limit, bytesMax }
    return new Promise((resolve, reject) => this.#batcher.add({ ...request, resolve, reject }))
  }

  async #execute(groups: readonly RequestGroup<RangeRequest>[], putBack: PutBack<RangeRequest>): Promise<void> {
    const batches = new Map<string, RangeBatch>()
    for (const group of groups) {
      const [{ limit, bytesMax }] = group
      const limits = `${limit} ${bytesMax}`
      const batch = batches.get(limits)
      if (batch === undefined) batches.set(limits, { limit, bytesMax, groups: [group] })
      else batch.groups.push(group)
    }
    await Promise.all([...batches.values()].map((batch) => this.#readBatch(batch, putBack)))
  }

  async #readBatch({ limit, bytesMax, groups }: RangeBatch, putBack: PutBack<RangeRequest>): Promise<void> {
    const bytesPerRange = groups.length === 1 ? bytesMax : Math.min(bytesMax, sharedBytesMax)
    const rows = await this.#read(readRanges, [
      plainArray(groups.map(([{ type }]) => typeNumbers[type])),
      bytesArray(groups.map(([{ range }]) => range.start)),
      bytesArray(groups.map(([{ range }]) => range.end)),
      limit,
      bytesPerRange,
    ])
    const results = groups.map((group) => ({ group, items: [] as string[] }))
    for (const { place, item } of rows) results[Number(place) - 1]?.items.push(item)
    for (const { group, items } of results) {
      const isWhole = bytesPerRange === bytesMax || items.length === limit || !isLonger(items, bytesPerRange)
      if (isWhole) for (const { resolve } of group) resolve(items)
      // Infinite bytes close the batch, so no other range joins it.
      else for (const request of group) putBack(request, { ...request, bytes: Infinity })
    }
  }
}

/** Whether items, each with a comma, have more bytes than this. A UTF-16 unit takes three bytes at most. */
function isLonger(items: readonly string[], bytesMax: number): boolean {
  const units = items.reduce((sum, { length }) => sum + length + 1, 0)
  return units * 3 > bytesMax && items.reduce((sum, item) => sum + Buffer.byteLength(item) + 1, 0) > bytesMax
}
