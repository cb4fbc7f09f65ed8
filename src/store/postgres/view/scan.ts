/**
 * Visiting the topics of a plan in batches, which are found in one of three ways (finding.ts). Between two statements nothing is
 * held open, unless the caller reads in a snapshot: a scan goes on after the last key that it saw, so that a topic that exists
 * throughout is seen exactly once, in order.
 */
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Matcher } from '../../../selectors/plan.js'
import { decodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Scan, StoredTopic, Wanted } from '../../engine.js'
import { bytesOf } from '../sql/columns.js'
import type { Execute } from '../sql/statement.js'
import { type Find, findBranches, findKeys, findRows, findsBranches } from './finding.js'
import { type PlacedRow, PostgresTopic, rowsAt } from './topics.js'

/** Keys in a batch: few while the matcher skips, many while it does not. */
const batchMin = 32
const batchMax = 1024

/** See `Engine.scan`. */
export async function scan(read: Execute, asked: Scan, cancellation: Cancellation): Promise<void> {
  const { ranges, matcher } = asked.plan
  const find = wayToFind(read, asked)
  let batch = matcher === undefined ? batchMax : batchMin
  for (let left = ranges; left.length > 0; ) {
    if (cancellation.aborted) throw new Cancelled()
    const found = await find(left, batch)
    const { keys, jump } = await matching(matcher, found.keys, cancellation)
    left = jump === undefined ? found.left : rangesFrom(found.left, jump)
    batch = jump === undefined ? Math.min(2 * batch, batchMax) : Math.max(batch / 2, batchMin)
    const { rows } = found
    const taken =
      rows === undefined ? takeKeys(read, asked, keys, cancellation) : takeRows(keys, rows, asked, cancellation)
    if (!(await taken)) return
  }
}

function wayToFind(read: Execute, { plan, branches, type, wanted, ahead }: Scan): Find {
  if (branches !== undefined && findsBranches(branches)) return findBranches(read, type, branches, ahead.topics)
  return plan.matcher !== undefined || wanted === undefined || isBare(type, wanted)
    ? findKeys(read, type)
    : findRows(read, type, wanted, ahead)
}

/** Whether nothing of a topic is wanted but its type, which is known. */
function isBare(type: TopicType | undefined, { head, item, version }: Wanted): type is TopicType {
  return type !== undefined && !head && !item && !version
}

/** Those of the keys that match, and the least that may match after them, if the matcher knows it. */
async function matching(
  matcher: Matcher | undefined,
  keys: readonly Buffer[],
  cancellation: Cancellation,
): Promise<{ readonly keys: readonly Buffer[]; readonly jump?: Buffer | undefined }> {
  if (matcher === undefined) return { keys }
  const matches: Buffer[] = []
  let jump: Buffer | undefined
  let slice = await waitForSlice(cancellation)
  for (const key of keys) {
    if (jump !== undefined && Buffer.compare(key, jump) < 0) continue
    const verdict = matcher(decodeKey(key), slice)
    jump = typeof verdict === 'object' ? verdict : undefined
    if (verdict === true) matches.push(key)
    if (slice.isOver()) slice = await waitForSlice(cancellation)
  }
  return { keys: matches, jump }
}

/** Takes the topics at these keys. @returns whether more are taken */
async function takeKeys(
  read: Execute,
  asked: Scan,
  keys: readonly Buffer[],
  cancellation: Cancellation,
): Promise<boolean> {
  const { type, wanted, ahead, take } = asked
  if (wanted === undefined) return takePaths(keys, () => undefined, take, cancellation)
  if (isBare(type, wanted)) return takePaths(keys, (path) => PostgresTopic.bare(path, type), take, cancellation)
  for (let from = 0; from < keys.length; ) {
    const some = keys.slice(from, from + ahead.topics)
    const rows = await rowsAt(read, some, type, wanted, ahead.bytes)
    const cut = rows.findIndex(({ fits }) => fits !== 'true')
    const whole = cut === -1 ? rows : rows.slice(0, cut)
    const found = whole.map(({ key }) => bytesOf(key))
    if (!(await takeRows(found, whole, asked, cancellation))) return false
    from += cut === -1 ? some.length : Number(rows[cut]?.place) - 1
  }
  return true
}

function takeRows(
  keys: readonly Buffer[],
  rows: readonly PlacedRow[],
  { take }: Scan,
  cancellation: Cancellation,
): Promise<boolean> {
  return takePaths(keys, (path, i) => new PostgresTopic(path, rows[i] as PlacedRow), take, cancellation)
}

/** Calls `take` for each key, in slices. */
async function takePaths(
  keys: readonly Buffer[],
  topicOf: (path: Path, index: number) => StoredTopic | undefined,
  take: Scan['take'],
  cancellation: Cancellation,
): Promise<boolean> {
  if (keys.length === 0) return true
  let slice = await waitForSlice(cancellation)
  for (const [i, key] of keys.entries()) {
    const path = decodeKey(key)
    if (!take(path, topicOf(path, i), slice)) return false
    if (slice.isOver()) slice = await waitForSlice(cancellation)
  }
  return true
}
