/**
 * Fetching: one topic, or a page. The items of one type as they are stored have the fastest ways: a topic shares a
 * statement with others (topic-reads.ts), and so do the ranges of a plan without a matcher (range-reads.ts). Items in
 * another form are read by item-forms.ts. With a matcher, or a limit for branches, only keys are scanned
 * (match-scan.ts, branch-keys.ts), and the items are read by their keys, as many as the page has room for.
 *
 * Every statement sees what was committed before it was sent, and what it sees is durable.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { pathBytesMax } from '../../../settings/limits.js'
import { rangesAfter } from '../../../topics/range.js'
import { limitBranches } from '../../core/read/branches.js'
import { isStoredForm, type Page, type PageQuery, type TopicReader } from '../../topics.js'
import { bytesArray } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import type { Execute, Statement } from '../sql/statement.js'
import { branchKeys, branchLimitMax } from './branch-keys.js'
import { readKeysInForm, readRangesInForm, readTopicInForm } from './item-forms.js'
import { matchingKeys } from './match-scan.js'
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
 * @param read for topics and ranges as they are stored
 * @param scan for statements that take some ms of the engine's time
 */
export function createReads(read: Execute, scan: Execute): Pick<TopicReader, 'readTopic' | 'readPage'> {
  const topics = new TopicReads(read)
  const ranges = new RangeReads(read)
  return {
    readTopic: (path, form) => (isStoredForm(form) ? topics.read(path, form.type) : readTopicInForm(scan, path, form)),
    readPage(query, cancellation) {
      const { plan, branches } = query
      // No path has more segments than bytes.
      const limited = branches !== undefined && branches.depth <= pathBytesMax ? branches : undefined
      return limited === undefined && plan.matcher === undefined
        ? readAll(ranges, scan, query, cancellation)
        : readMatches(scan, { ...query, branches: limited }, cancellation)
    },
  }
}

/** A page of everything in the plan's ranges. */
async function readAll(stored: RangeReads, scan: Execute, query: PageQuery, cancellation: Cancellation): Promise<Page> {
  const { plan, form, after } = query
  const page = createPageItems(query)
  const ranges = rangesAfter(plan.ranges, after)
  for (let from = 0, width = 1; from < ranges.length; from += width, width = rangesAtOnce) {
    if (cancellation.aborted) throw new Cancelled()
    const some = ranges.slice(from, from + width)
    const lists = isStoredForm(form)
      ? await Promise.all(some.map((range) => stored.read(range, form.type, query)))
      : [await readRangesInForm(scan, some, query)]
    for (const items of lists) for (const item of items) if (!page.add(item)) return page.finish(true)
  }
  return page.finish(false)
}

/** A page of what the matcher and the limit take. */
async function readMatches(scan: Execute, query: PageQuery, cancellation: Cancellation): Promise<Page> {
  const { size, bytesMax } = query
  const page = createPageItems(query)
  for await (const keys of keysOfMatches(scan, query, cancellation)) {
    for (let from = 0; from < keys.length; ) {
      const room = size - page.count()
      if (room === 0 || page.bytes() > bytesMax) return page.finish(true)
      const some = keys.slice(from, from + room)
      from += room
      for (const item of await readKeys(scan, some, query)) if (!page.add(item)) return page.finish(true)
      // A first item beyond the bound fills the page, and what follows it may have been left out.
      if (page.bytes() > bytesMax && some.length > 1) return page.finish(true)
    }
  }
  return page.finish(false)
}

/** The keys that a page may consist of, in tree order and in batches; for branches those that bound them. */
function keysOfMatches(scan: Execute, query: PageQuery, cancellation: Cancellation): AsyncIterable<readonly Buffer[]> {
  const { plan, form, branches, after } = query
  if (branches === undefined) {
    const ranges = rangesAfter(plan.ranges, after)
    return matchingKeys(scan, { ranges, matcher: plan.matcher }, form.type, cancellation)
  }
  return branches.limit <= branchLimitMax && plan.matcher === undefined
    ? branchKeys(scan, { ...query, branches }, cancellation)
    : matchingKeys(scan, limitBranches(plan, branches, after), form.type, cancellation)
}

/** The items of these keys, in tree order; it may end with the first that makes the sum exceed the page's bytes. */
async function readKeys(scan: Execute, keys: readonly Buffer[], query: PageQuery): Promise<Iterable<string>> {
  const { form, bytesMax } = query
  if (!isStoredForm(form)) return readKeysInForm(scan, keys, query)
  const rows = await scan(readItems, [typeNumbers[form.type], bytesArray(keys), bytesMax])
  return rows.map(({ item }) => item)
}
