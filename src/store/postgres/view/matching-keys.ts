/**
 * Scanning the matching keys of a plan, for pages of plans with a matcher and for removals. Keys are read in batches,
 * which grow while the matcher skips nothing. The scan holds nothing open between them, and continues after the last
 * key that it saw, so that a topic that exists throughout is seen exactly once, in order.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import { decodeKey } from '../../../topics/key.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import { bytesOf } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, hasType, type Statement } from '../sql/statement.js'

interface KeyRow {
  readonly key: string
}

/** Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
const readKeysOfType: Statement<KeyRow> = {
  name: 'read_keys_of_type',
  text: `select key from topicd.topics
    where ${hasType} and (type, key) >= ($1::smallint, $2::bytea) and (type, key) < ($1::smallint, $3::bytea) order by type, key limit $4::int`,
}

const readKeys: Statement<KeyRow> = {
  name: 'read_keys',
  text: `select key from topicd.topics where key >= $1::bytea and key < $2::bytea order by key limit $3::int`,
}

/** Keys in a batch: few while the matcher skips, many while it does not. */
const batchMin = 32
const batchMax = 1024

/** The first keys of a type, or of both, in a range, at most `limit`. */
export async function keysOf(
  read: Execute,
  range: KeyRange,
  type: TopicType | undefined,
  limit: number,
): Promise<Buffer[]> {
  const { start, end } = range
  const rows = await (type === undefined
    ? read(readKeys, [start, end, limit])
    : read(readKeysOfType, [typeNumbers[type], start, end, limit]))
  return rows.map(({ key }) => bytesOf(key))
}

/**
 * The matching keys of a type, or of both, in batches, in order; a batch may be empty. Other requests are served between
 * slices of matching.
 *
 * @throws Cancelled once `cancellation` is set
 */
export async function* matchingKeys(
  read: Execute,
  { ranges, matcher }: Plan,
  type: TopicType | undefined,
  cancellation: Cancellation,
): AsyncGenerator<Buffer[]> {
  let left: readonly KeyRange[] = ranges
  let batch = matcher === undefined ? batchMax : batchMin
  for (;;) {
    if (left.length > 0 && cancellation.aborted) throw new Cancelled()
    const [range] = left
    if (range === undefined) return
    const keys = await keysOf(read, range, type, batch)
    const matching: Buffer[] = []
    let jump: Buffer | undefined
    let slice = await waitForSlice(cancellation)
    for (const key of keys) {
      if (jump !== undefined && Buffer.compare(key, jump) < 0) continue
      const verdict = matcher === undefined || matcher(decodeKey(key), slice)
      jump = typeof verdict === 'object' ? verdict : undefined
      if (verdict === true) matching.push(key)
      if (slice.isOver()) slice = await waitForSlice(cancellation)
    }
    yield matching
    const last = keys.at(-1)
    if (keys.length < batch) left = left.slice(1)
    if (jump !== undefined) left = rangesFrom(left, jump)
    else if (keys.length === batch && last !== undefined) left = rangesFrom(left, keyAfter(last))
    batch = jump === undefined ? Math.min(2 * batch, batchMax) : Math.max(batch / 2, batchMin)
  }
}
