/** Topics as the decisions of a commit read them: from rows, or from what this process still knows of them. */
import { LRUCache } from 'lru-cache'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { NeededTopic } from '../../engine.js'
import { bytesArray, columnOf, plainArray } from '../sql/arrays.js'
import { type Execute, type Statement, sameKey } from '../sql/statement.js'
import { PostgresTopic, type TopicRow } from '../view/stored-topic.js'

interface HeadRow extends TopicRow {
  /** False if its item was left out, since others before have so many bytes. */
  readonly fits: string
}

/** Topics, with the items of those for which `$2` is true, as long as the items before have less than `$3` bytes together. */
const readHeads: Statement<HeadRow> = {
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

/** A topic, as far as decisions depend on it. */
export class KnownTopic extends PostgresTopic {
  /** @param isCut whether its item was left out */
  constructor(
    path: Path,
    row: Omit<TopicRow, 'key'>,
    readonly isCut = false,
  ) {
    super(path, row)
  }
}

/** Topics by their paths; undefined where there is none. */
export type Known = Map<Path, KnownTopic | undefined>

/** Reads topics. @param itemBytesMax the items of others are left out once some have so many bytes */
export async function readTopics(read: Execute, needed: readonly NeededTopic[], itemBytesMax: number): Promise<Known> {
  const known: Known = new Map(needed.map(({ path }) => [path, undefined]))
  if (needed.length === 0) return known
  const keys = needed.map(({ path }) => encodeKey(path))
  const paths = new Map(needed.map(({ path }, i) => [columnOf(keys[i] as Buffer), path]))
  const wholes = plainArray(needed.map(({ reads }) => reads === 'item'))
  for (const row of await read(readHeads, [bytesArray(keys), wholes, itemBytesMax])) {
    const path = paths.get(row.key) as Path
    known.set(path, new KnownTopic(path, row, row.fits !== 'true'))
  }
  return known
}

/** Topics of which this process keeps what never changes: those of a busy service with as many publishers. */
const cachedMax = 20_000

/** The same in bytes, about: one has up to 16 KiB of properties. */
const cachedBytesMax = 16 * 1024 * 1024

/** What this process knows of topics from its last commits. A commit checks what it relies on, so it may be wrong. */
export class HeadCache {
  readonly #topics = new LRUCache<Path, { readonly topic: KnownTopic | undefined }>({
    max: cachedMax,
    maxSize: cachedBytesMax,
    sizeCalculation: ({ topic }, path) => path.length + (topic?.propertiesLength ?? 0) + 1,
  })

  /** The topic at a path; undefined if nothing is known of it. */
  get(path: Path): { readonly topic: KnownTopic | undefined } | undefined {
    return this.#topics.get(path)
  }

  /** @param topic undefined if there is none */
  set(path: Path, topic: KnownTopic | undefined): void {
    this.#topics.set(path, { topic })
  }

  forget(paths: Iterable<Path>): void {
    for (const path of paths) this.#topics.delete(path)
  }
}
