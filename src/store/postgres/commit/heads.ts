/** Topics as read for the decisions of a commit: from rows, or from this process's cache. */
import { LRUCache } from 'lru-cache'
import type { Moment } from '../../../base/clock.js'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { NeededTopic } from '../../engine.js'
import { bytesArray, bytesOf, momentOf, plainArray } from '../sql/columns.js'
import { clockMs, type Execute, type Parameter, type Statement, sameKey } from '../sql/statement.js'
import { PostgresTopic, type TopicRow } from '../view/topics.js'

/** Topics, with their items where `$2` is true, as long as the preceding items have fewer than `$3` bytes in total. */
const heads = `
  select key, type, properties, generation, version, created, updated, due,
    case when whole and before < $3::bigint then item end as item, (not whole or before < $3::bigint)::text as fits
  from (
    select t.*, v.whole, sum(case when v.whole then octet_length(t.item) else 0 end)
      over (order by v.place rows unbounded preceding) - octet_length(t.item) as before
    from unnest($1::bytea[], $2::boolean[]) with ordinality as v (key, whole, place)
    join topicd.topics t on ${sameKey}
  ) w`

const readHeads: Statement<TopicRow> = { name: 'read_heads', text: heads }

/**
 * A transaction calls this function to take the commit lock (function.ts) before it reads the premises of its decisions: no other
 * process commits until the transaction ends. It must be a function. A plain statement sees only rows that were committed before
 * its start, but the heads must be current after the wait for the lock. A migration creates it (schema.ts).
 */
export const orderFunction = `
create or replace function topicd.take_order(bytea[], boolean[], bigint)
returns table (
  now bigint, key bytea, type smallint, properties text, generation bigint, version bigint, created bigint, updated bigint,
  due bigint, item text, fits text
) language plpgsql as $$
#variable_conflict use_column
begin
  perform 1 from topicd.meta where name = 'order' for update;
  return query select ${clockMs}, h.* from (select 1) one left join (${heads}) h on true;
end $$`

/** A head, or null in each column; the time is on the engine's clock. */
type OrderRow = Omit<TopicRow, 'key'> & { readonly key: string | null; readonly now: string }

/** Always returns a row: if none of the topics exists, one without a head. */
const takeOrder: Statement<OrderRow> = {
  name: 'take_order',
  text: 'select * from topicd.take_order($1::bytea[], $2::boolean[], $3::bigint)',
}

/** Topics by path; undefined for a missing topic. */
export type Known = Map<Path, PostgresTopic | undefined>

/** @param itemBytesMax once items have this many bytes in total, the others are left out */
export async function readTopics(read: Execute, needed: readonly NeededTopic[], itemBytesMax: number): Promise<Known> {
  if (needed.length === 0) return new Map()
  return knownOf(needed, await read(readHeads, headParameters(needed, itemBytesMax)))
}

/** Takes the commit lock, and reads topics as `readTopics` does. @returns the topics, and when they were read, by the engine's clock */
export async function readInOrder(
  read: Execute,
  needed: readonly NeededTopic[],
  itemBytesMax: number,
): Promise<{ readonly known: Known; readonly moment: Moment }> {
  const rows = await read(takeOrder, headParameters(needed, itemBytesMax))
  const [{ now } = { now: '0' }] = rows
  return { known: knownOf(needed, rows), moment: momentOf(now) }
}

function headParameters(needed: readonly NeededTopic[], itemBytesMax: number): Parameter[] {
  const keys = bytesArray(needed.map(({ path }) => encodeKey(path)))
  return [keys, plainArray(needed.map(({ reads }) => reads === 'item')), itemBytesMax]
}

function knownOf(needed: readonly NeededTopic[], rows: readonly (TopicRow | OrderRow)[]): Known {
  const known: Known = new Map(needed.map(({ path }) => [path, undefined]))
  for (const row of rows) {
    if (row.key === null) continue
    const path = decodeKey(bytesOf(row.key))
    known.set(path, new PostgresTopic(path, row))
  }
  return known
}

/** Maximum topics in the cache of immutable parts: enough for a busy service with that many publishers. */
const cachedMax = 20_000

/** The cache's approximate limit in bytes: a topic has up to 16 KiB of properties. */
const cachedBytesMax = 16 * 1024 * 1024

/** Topics as of this process's last commits; undefined for a missing topic. Entries may be outdated: a commit checks them. */
export function createHeadCache(): LRUCache<Path, { readonly topic: PostgresTopic | undefined }> {
  return new LRUCache({
    max: cachedMax,
    maxSize: cachedBytesMax,
    sizeCalculation: ({ topic }, path) => path.length + (topic?.propertiesLength ?? 0) + 1,
  })
}
