/**
 * Reading single topics by path. Topics requested in one turn of the event loop share a statement (connection/batcher.ts). A batch
 * of several topics first reads only the small items; a later statement reads the large ones, so that they do not delay
 * the small ones.
 */
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Absent } from '../../topics.js'
import { Batcher, type PutBack, type Request, type RequestGroup } from '../connection/batcher.js'
import { bytesArray, columnOf } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, readsInFlightMax, type Statement, sameKey } from '../sql/statement.js'

interface ItemRow {
  readonly key: string
  readonly type: string
  /** Null if it was too large, or if the items before it left no room. */
  readonly item: string | null
}

const readItem: Statement<ItemRow> = {
  name: 'read_item',
  text: 'select key, type, item from topicd.topics where key = $1::bytea',
}

/** The items of topics, except those of more than `$2` bytes: the size of an item is known without reading it. */
const readSmallItems: Statement<ItemRow> = {
  name: 'read_small_items',
  text: `
    select key, type, case when octet_length(item) <= $2::int then item end as item
    from topicd.topics where key = any($1::bytea[])`,
}

/** The items of topics, in the order requested, up to the first that makes the sum reach `$2` bytes. */
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

/** A larger item is read by `readLargeItems`, which returns the item that reaches `largeBytesMax` and none after it. */
const smallBytesMax = 64 * 1024
const largeBytesMax = 8 * 1024 * 1024

interface TopicRequest extends Request {
  readonly key: Buffer
  readonly type: TopicType
  /** Whether an earlier statement found its item too large. */
  readonly isLarge: boolean
  resolve(item: Uint8Array | Absent): void
}

export class TopicReads {
  readonly #read: Execute
  readonly #batcher: Batcher<TopicRequest>

  constructor(read: Execute) {
    this.#read = read
    this.#batcher = new Batcher({
      execute: (groups, putBack) => this.#execute(groups, putBack),
      inFlightMax: readsInFlightMax,
      groupsMax: topicsMax,
    })
  }

  read(path: Path, type: TopicType): Promise<Uint8Array | Absent> {
    const key = encodeKey(path)
    return new Promise((resolve, reject) =>
      this.#batcher.add({
        id: columnOf(key),
        bytes: key.length,
        key,
        type,
        isLarge: false,
        resolve,
        reject,
      }),
    )
  }

  async #execute(groups: readonly RequestGroup<TopicRequest>[], putBack: PutBack<TopicRequest>): Promise<void> {
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
    if (keys.length === 1) return this.#read(readItem, keys)
    const hasLarge = groups.some(([{ isLarge }]) => isLarge)
    return hasLarge
      ? this.#read(readLargeItems, [bytesArray(keys), largeBytesMax])
      : this.#read(readSmallItems, [bytesArray(keys), smallBytesMax])
  }
}
