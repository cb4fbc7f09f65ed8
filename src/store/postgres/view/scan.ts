/**
 * Visiting the topics of a plan: without a matcher, rows are read range by range; with one, keys in batches, and then the rows
 * of those that match. Between two statements nothing is held open, unless the caller reads in a snapshot: a scan goes on
 * after the last key that it saw, so that a topic that exists throughout is seen exactly once, in order.
 */
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { type Slice, waitForSlice } from '../../../base/time-slices.js'
import { decodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Scan, StoredTopic, Wanted } from '../../engine.js'
import { bytesOf } from '../sql/arrays.js'
import type { Execute } from '../sql/statement.js'
import { branchKeys, takesBranches } from './branch-keys.js'
import { matchingKeys } from './matching-keys.js'
import { bareTopic, PostgresTopic } from './stored-topic.js'
import { type PlacedRow, rangesAtOnce, rowsAt, rowsIn } from './topics.js'

/** See `Engine.scan`. */
export async function scan(read: Execute, asked: Scan, cancellation: Cancellation): Promise<void> {
  const { plan, branches, type, wanted } = asked
  if (cancellation.aborted) throw new Cancelled()
  if (branches !== undefined && takesBranches(branches)) {
    return takeKeys(read, asked, branchKeys(read, branches, type, asked.ahead.topics, cancellation), cancellation)
  }
  if (plan.matcher === undefined && wanted !== undefined && !isBare(type, wanted)) {
    return takeRanges(read, asked, wanted, cancellation)
  }
  return takeKeys(read, asked, matchingKeys(read, plan, type, cancellation), cancellation)
}

/** Whether nothing of a topic is wanted but its type, which is known. */
function isBare(type: TopicType | undefined, { head, item, version }: Wanted): boolean {
  return type !== undefined && !head && !item && !version
}

async function takeRanges(
  read: Execute,
  { plan, type, ahead, take }: Scan,
  wanted: Wanted,
  cancellation: Cancellation,
): Promise<void> {
  let left = plan.ranges
  for (let width = 1; left.length > 0; width = rangesAtOnce) {
    if (cancellation.aborted) throw new Cancelled()
    const some = left.slice(0, width)
    const rows = await rowsIn(read, some, type, wanted, ahead.topics, ahead.bytes)
    const whole = wholeRows(rows, ahead.topics)
    if (!(await takeRows(whole, take, cancellation))) return
    const last = whole.at(-1)
    const isDone = whole.length === rows.length && !isFull(rows, ahead.topics)
    left = isDone || last === undefined ? left.slice(some.length) : rangesFrom(left, keyAfter(bytesOf(last.key)))
  }
}

/** Whether a range has perhaps more rows than were read of it. */
function isFull(rows: readonly PlacedRow[], limit: number): boolean {
  return countOfPlace(rows, rows.at(-1)?.place) === limit
}

/** The rows before the first that does not fit, and up to the end of the first range that has perhaps more. */
function wholeRows(rows: readonly PlacedRow[], limit: number): readonly PlacedRow[] {
  const cut = rows.findIndex(({ fits }) => fits !== 'true')
  const fitting = cut === -1 ? rows : rows.slice(0, cut)
  let count = 0
  for (const [i, { place }] of fitting.entries()) {
    count = place === fitting[i - 1]?.place ? count + 1 : 1
    if (count === limit) return fitting.slice(0, i + 1)
  }
  return fitting
}

function countOfPlace(rows: readonly PlacedRow[], place: string | undefined): number {
  return rows.filter((row) => row.place === place).length
}

/** Takes the topics at keys that come in batches. */
async function takeKeys(
  read: Execute,
  { type, wanted, ahead, take }: Scan,
  batches: AsyncIterable<readonly Buffer[]>,
  cancellation: Cancellation,
): Promise<void> {
  for await (const keys of batches) {
    if (wanted === undefined || isBare(type, wanted)) {
      const bare = wanted && type
      if (!(await takePaths(keys, (path) => bare && bareTopic(path, bare), take, cancellation))) return
      continue
    }
    for (let from = 0; from < keys.length; ) {
      const some = keys.slice(from, from + ahead.topics)
      const rows = await rowsAt(read, some, type, wanted, ahead.bytes)
      const cut = rows.find(({ fits }) => fits !== 'true')
      const whole = cut === undefined ? rows : rows.slice(0, rows.indexOf(cut))
      if (!(await takeRows(whole, take, cancellation))) return
      from += cut === undefined ? some.length : Number(cut.place) - 1
    }
  }
}

function takeRows(rows: readonly PlacedRow[], take: Scan['take'], cancellation: Cancellation): Promise<boolean> {
  const keys = rows.map(({ key }) => bytesOf(key))
  return takePaths(keys, (path, i) => new PostgresTopic(path, rows[i] as PlacedRow), take, cancellation)
}

/** Calls `take` for each key, in slices. @returns whether it takes more */
async function takePaths(
  keys: readonly Buffer[],
  topicOf: (path: Path, index: number) => StoredTopic | undefined,
  take: Scan['take'],
  cancellation: Cancellation,
): Promise<boolean> {
  if (keys.length === 0) return true
  let slice: Slice = await waitForSlice(cancellation)
  for (const [i, key] of keys.entries()) {
    const path = decodeKey(key)
    if (!take(path, topicOf(path, i), slice)) return false
    if (slice.isOver()) slice = await waitForSlice(cancellation)
  }
  return true
}
