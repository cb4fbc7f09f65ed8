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

interface MatchRow {
  readonly key: string
  readonly generation?: string
}

/** Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
const readKeysOfType: Statement<MatchRow> = {
  name: 'read_keys_of_type',
  text: `select key from topicd.topics
    where ${hasType} and (type, key) >= ($1::smallint, $2::bytea) and (type, key) < ($1::smallint, $3::bytea) order by type, key limit $4::int`,
}

/**
 * Keys of both types, each with its topic's generation, which distinguishes it from earlier and later ones at the path.
 */
const readGenerations: Statement<MatchRow> = {
  name: 'read_generations',
  text: `select key, generation from topicd.topics where key >= $1::bytea and key < $2::bytea order by key limit $3::int`,
}

const readKeys: Statement<MatchRow> = {
  name: 'read_keys',
  text: `select key from topicd.topics where key >= $1::bytea and key < $2::bytea order by key limit $3::int`,
}

/** Keys in a batch: few while the matcher skips, many while it does not. */
const batchMin = 32
const batchMax = 1024

/**
 * The matching keys of a type, or of both, in batches, in order; a batch may be empty. Other requests are served between
 * slices of matching.
 *
 * @throws Cancelled once `cancellation` is set
 */
export async function* matchingKeys(
  read: Execute,
  plan: Plan,
  type: TopicType | 'any',
  cancellation: Cancellation,
): AsyncGenerator<Buffer[]> {
  const readRange: ReadRange = (range, limit) => readKeyRows(read, range, type, limit)
  for await (const rows of matches(readRange, plan, cancellation)) yield rows.map(({ key }) => bytesOf(key))
}

/** How many topics of a type, or of both, match. @throws Cancelled once `cancellation` is set */
export async function countMatching(
  read: Execute,
  plan: Plan,
  type: TopicType | 'any',
  cancellation: Cancellation,
): Promise<number> {
  let count = 0
  for await (const keys of matchingKeys(read, plan, type, cancellation)) count += keys.length
  return count
}

/** The first keys of a type, or of both, in a range, at most `limit`. */
export async function keysOf(
  read: Execute,
  range: KeyRange,
  type: TopicType | 'any',
  limit: number,
): Promise<Buffer[]> {
  return (await readKeyRows(read, range, type, limit)).map(({ key }) => bytesOf(key))
}

function readKeyRows(
  read: Execute,
  { start, end }: KeyRange,
  type: TopicType | 'any',
  limit: number,
): Promise<readonly MatchRow[]> {
  return type === 'any'
    ? read(readKeys, [start, end, limit])
    : read(readKeysOfType, [typeNumbers[type], start, end, limit])
}

/** The matching keys of both types in batches, each with its topic's generation. */
export async function* matchingTopics(
  read: Execute,
  plan: Plan,
  cancellation: Cancellation,
): AsyncGenerator<{ key: Buffer; generation: string }[]> {
  const readRange: ReadRange = ({ start, end }, limit) => read(readGenerations, [start, end, limit])
  for await (const rows of matches(readRange, plan, cancellation))
    yield rows.map(({ key, generation = '' }) => ({ key: bytesOf(key), generation }))
}

type ReadRange = (range: KeyRange, limit: number) => Promise<readonly MatchRow[]>

/** The rows that a plan matches, in tree order and in batches. */
async function* matches(
  readRange: ReadRange,
  { ranges, matcher }: Plan,
  cancellation: Cancellation,
): AsyncGenerator<MatchRow[]> {
  let left: readonly KeyRange[] = ranges
  let batch = matcher === undefined ? batchMax : batchMin
  for (;;) {
    if (left.length > 0 && cancellation.aborted) throw new Cancelled()
    const [range] = left
    if (range === undefined) return
    const rows = await readRange(range, batch)
    const matching: MatchRow[] = []
    let jump: Buffer | undefined
    let last = range.start
    let slice = await waitForSlice(cancellation)
    for (const row of rows) {
      last = bytesOf(row.key)
      if (jump !== undefined && Buffer.compare(last, jump) < 0) continue
      const verdict = matcher === undefined || matcher(decodeKey(last), slice)
      jump = typeof verdict === 'object' ? verdict : undefined
      if (verdict === true) matching.push(row)
      if (slice.isOver()) slice = await waitForSlice(cancellation)
    }
    yield matching
    if (rows.length < batch) left = left.slice(1)
    if (jump !== undefined) left = rangesFrom(left, jump)
    else if (rows.length === batch) left = rangesFrom(left, keyAfter(last))
    batch = jump === undefined ? Math.min(2 * batch, batchMax) : Math.max(batch / 2, batchMin)
  }
}
