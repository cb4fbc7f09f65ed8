/** Topics as the decisions of a commit read them: from rows, or from what this process still knows of them. */
import { LRUCache } from 'lru-cache'
import type { Moment } from '../../../base/clock.js'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { NeededTopic } from '../../engine.js'
import { bytesArray, bytesOf, momentOf, plainArray } from '../sql/columns.js'
import { clockMs, type Execute, type Parameter, type Statement, sameKey } from '../sql/statement.js'
import { PostgresTopic, type TopicRow } from '../view/topics.js'

/** Topics, with the items of those for which `$2` is true, as long as the items before have less than `$3` bytes together. */
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
 * The function by which a transaction takes the order of commits (function.ts) before it reads what its decisions depend on:
 * nobody else commits until the transaction ends. A function, since the heads are to be those of the moment after the wait, and
 * a statement sees only what was there when it began. It is created by a migration (schema.ts).
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

/** A head, or null in each column; the time is that of the engine's clock. */
type OrderRow = Omit<TopicRow, 'key'> & { readonly key: string | null; readonly now: string }

/** There is always a row: if none of the topics is there, one without a head. */
const takeOrder: Statement<OrderRow> = {
  name: 'take_order',
  text: 'select * from topicd.take_order($1::bytea[], $2::boolean[], $3::bigint)',
}

/** Topics by their paths; undefined where there is none. */
export type Known = Map<Path, PostgresTopic | undefined>

/** @param itemBytesMax the items of others are left out once some have so many bytes */
export async function readTopics(read: Execute, needed: readonly NeededTopic[], itemBytesMax: number): Promise<Known> {
  if (needed.length === 0) return new Map()
  return knownOf(needed, await read(readHeads, headParameters(needed, itemBytesMax)))
}

/** Takes the order of commits, and reads topics as `readTopics` does. @returns them, and when that was, by the engine's clock */
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

/** Topics of which this process keeps what never changes: those of a busy service with as many publishers. */
const cachedMax = 20_000

/** The same in bytes, about: one has up to 16 KiB of properties. */
const cachedBytesMax = 16 * 1024 * 1024

/** Topics as of this process's last commits; undefined if there is none. A commit checks them, so they may be wrong. */
export function createHeadCache(): LRUCache<Path, { readonly topic: PostgresTopic | undefined }> {
  return new LRUCache({
    max: cachedMax,
    maxSize: cachedBytesMax,
    sizeCalculation: ({ topic }, path) => path.length + (topic?.propertiesLength ?? 0) + 1,
  })
}
