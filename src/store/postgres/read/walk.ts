/**
 * Walks over all matches of a plan in one snapshot, for export, and over rows of topics, for check.ts. Rows are read in
 * batches, and other work gets its turn between them.
 */

import type { Cancellation } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import { decodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import { type Properties, valueOfItem } from '../../../topics/topic.js'
import { damagedTopics } from '../../errors.js'
import type { WholeTopic } from '../../topics.js'
import type { Connections } from '../connection/connections.js'
import type { Snapshot } from '../connection/snapshot.js'
import { bytesOf } from '../sql/arrays.js'
import { propertiesOf, typeOfColumn } from '../sql/rows.js'
import type { Statement } from '../sql/statement.js'

export interface TopicRow {
  readonly key: string
  readonly type: string
  readonly retains: string
  readonly created: string
  readonly updated: string
  readonly due: string | null
  readonly properties: string | null
  readonly item: string
  readonly version: string
}

/** At most `$3` rows, up to the first that makes the sum of their items exceed `$4` bytes. */
const readRows: Statement<TopicRow> = {
  name: 'read_rows',
  text: `
    select key, type, retains, created, updated, due, properties, item, version
    from (
      select t.*, sum(octet_length(t.item)) over (order by t.key rows unbounded preceding) - octet_length(t.item) as bytes
      from (select * from topicd.topics where key >= $1::bytea and key < $2::bytea order by key limit $3::int) t
    ) w
    where bytes <= $4::bigint order by key`,
}

const rowsMax = 500
const bytesMax = 8 * 1024 * 1024

/** The rows of the ranges, in order, in batches. */
export async function* rowsOf({ read }: Snapshot, ranges: readonly KeyRange[]): AsyncGenerator<readonly TopicRow[]> {
  let left = ranges
  for (;;) {
    const [range] = left
    if (range === undefined) return
    const rows = await read(readRows, [range.start, range.end, rowsMax, bytesMax])
    const last = rows.at(-1)
    left = last === undefined ? left.slice(1) : rangesFrom(left, keyAfter(bytesOf(last.key)))
    yield rows
  }
}

/**
 * Every match of the plan, complete, in tree order.
 *
 * @throws Cancelled once `cancellation` is set; StoreError `unavailable`; StoreUnusable at its end when some topics could
 *   not be read
 */
export async function* walk(
  connections: Pick<Connections, 'openSnapshot'>,
  { ranges, matcher }: Plan,
  cancellation: Cancellation,
): AsyncGenerator<WholeTopic> {
  const lost: Path[] = []
  const snapshot = await connections.openSnapshot()
  try {
    for await (const rows of rowsOf(snapshot, ranges)) {
      let slice = await waitForSlice(cancellation)
      for (const row of rows) {
        if (slice.isOver()) slice = await waitForSlice(cancellation)
        const path = decodeKey(bytesOf(row.key))
        if (matcher !== undefined && matcher(path, slice) !== true) continue
        const properties = readable(row.properties)
        const type = typeOfColumn(row.type)
        if (properties === undefined) lost.push(path)
        else yield { path, type, properties, valueText: valueOfItem(Buffer.from(row.item), path, type) }
      }
    }
  } finally {
    await snapshot.close()
  }
  if (lost.length > 0) throw damagedTopics(lost.length, lost[0])
}

/** The properties in a column; undefined when they cannot be read. */
function readable(column: string | null): Properties | undefined {
  try {
    const properties: unknown = propertiesOf(column)
    return typeof properties === 'object' && properties !== null ? (properties as Properties) : undefined
  } catch {
    return undefined
  }
}
