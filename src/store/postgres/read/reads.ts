/**
 * Fetching: one topic (topic-reads.ts), or a page of a plan. A page of a plan without a matcher reads ranges of one
 * index (range-reads.ts) and copies the items as they are stored. With a matcher, only keys are scanned (match-scan.ts), and
 * the items of matches are read by their keys (matched-page.ts). Items in other forms are read by listings.ts.
 *
 * Every statement sees what was committed before it was sent, and what it sees is durable.
 */
import type { Plan } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import { type Cancellation, Cancelled } from '../../cancellation.js'
import type { TopicStore } from '../../store.js'
import type { Page, PageQuery } from '../../topics.js'
import { bytesArray } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import type { Execute, Statement } from '../sql/statement.js'
import { matchingKeys } from './match-scan.js'
import { readMatchedPage } from './matched-page.js'
import { createPageItems } from './page-items.js'
import { RangeReads } from './range-reads.js'
import { TopicReads } from './topic-reads.js'

/** The items of these keys, in tree order, up to the first that makes the sum exceed `$3` bytes. */
const readItems: Statement<{ item: string }> = {
  name: 'read_matches',
  text: `
    select p.item
    from (
      select key, item, sum(octet_length(item)) over (order by key rows unbounded preceding) - octet_length(item) as bytes
      from topicd.topics where key = any($2::bytea[]) and type = $1::smallint
    ) p
    where p.bytes <= $3::bigint order by p.key`,
}

/** Ranges that are read together for one page, once the first range has not filled it. */
const rangesAtOnce = 8

/**
 * Assembles the reads of topics and of pages.
 *
 * @param read for topics and ranges
 * @param scan for the statements of scans
 */
export function createReads(read: Execute, scan: Execute): Pick<TopicStore, 'readTopic' | 'readPage'> {
  const topics = new TopicReads(read)
  const ranges = new RangeReads(read)
  return {
    readTopic: (path, type) => topics.read(path, type),
    readPage(query, cancellation) {
      const { plan, after } = query
      const left = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
      if (plan.matcher === undefined) return readPlainPage(ranges, query, left, cancellation)
      return readMatches(scan, query, { ranges: left, matcher: plan.matcher }, cancellation)
    },
  }
}

async function readPlainPage(
  reads: RangeReads,
  query: PageQuery,
  ranges: readonly KeyRange[],
  cancellation: Cancellation,
): Promise<Page> {
  const page = createPageItems(query)
  for (let from = 0, width = 1; from < ranges.length; from += width, width = rangesAtOnce) {
    if (cancellation.cancelled) throw new Cancelled()
    const lists = await Promise.all(ranges.slice(from, from + width).map((range) => reads.read(range, query)))
    for (const items of lists) for (const item of items) if (!page.add(item)) return page.finish(true)
  }
  return page.finish(false)
}

function readMatches(scan: Execute, query: PageQuery, plan: Plan, cancellation: Cancellation): Promise<Page> {
  const { type, bytesMax } = query
  return readMatchedPage(matchingKeys(scan, plan, type, cancellation), query, async (keys) => {
    const rows = await scan(readItems, [typeNumbers[type], bytesArray(keys), bytesMax])
    return rows.map(({ item }) => item)
  })
}
