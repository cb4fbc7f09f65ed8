/** Topics as the decisions of a commit read them: from rows, or from what this process still knows of them. */
import { LRUCache } from 'lru-cache'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { NeededTopic } from '../../engine.js'
import { bytesArray, bytesOf, plainArray } from '../sql/columns.js'
import { type Execute, type Statement, sameKey } from '../sql/statement.js'
import { PostgresTopic, type TopicRow } from '../view/topics.js'

/** Topics, with the items of those for which `$2` is true, as long as the items before have less than `$3` bytes together. */
const readHeads: Statement<TopicRow> = {
  name: 'read_heads',
  text: `
    select key, type, properties, generation, version, created, updated, due,
      case when whole and before < $3::bigint then item end as item, (not whole or before < $3::bigint)::text as fits
    from (
      select t.*, v.whole, sum(case when v.whole then octet_length(t.item) else 0 end)
        over (order by v.place rows unbounded preceding) - octet_length(t.item) as before
      from unnest($1::bytea[], $2::boolean[]) with ordinality as v (key, whole, place)
      join topicd.topics t on ${sameKey}
    ) w`,
}

/** Topics by their paths; undefined where there is none. */
export type Known = Map<Path, PostgresTopic | undefined>

/** Reads topics. @param itemBytesMax the items of others are left out once some have so many bytes */
export async function readTopics(read: Execute, needed: readonly NeededTopic[], itemBytesMax: number): Promise<Known> {
  const known: Known = new Map(needed.map(({ path }) => [path, undefined]))
  if (needed.length === 0) return known
  const keys = bytesArray(needed.map(({ path }) => encodeKey(path)))
  const wholes = plainArray(needed.map(({ reads }) => reads === 'item'))
  for (const row of await read(readHeads, [keys, wholes, itemBytesMax])) {
    const path = decodeKey(bytesOf(row.key))
    known.set(path, new PostgresTopic(path, row))
  }
  return known
}

/** Topics of which this process keeps what never changes: those of a busy service with as many publishers. */
const cachedMax = 20_000

/** The same in bytes, about: one has up to 16 KiB of properties. */
const cachedBytesMax = 16 * 1024 * 1024

/**
 * For what a process knows of topics from its last commits; undefined if there is none at a path. A commit checks what it
 * relies on, so it may be wrong.
 */
export function createHeadCache(): LRUCache<Path, { readonly topic: PostgresTopic | undefined }> {
  return new LRUCache({
    max: cachedMax,
    maxSize: cachedBytesMax,
    sizeCalculation: ({ topic }, path) => path.length + (topic?.propertiesLength ?? 0) + 1,
  })
}
