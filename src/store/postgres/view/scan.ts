/**
 * Visits the topics of a plan in batches. One statement finds each batch, in one of three ways: by keys, by the first keys of each
 * branch, or as rows. Between statements nothing stays open, unless the caller reads in a snapshot. A scan continues after the last
 * key that it saw, so a topic that exists throughout is visited exactly once, in order.
 */
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Matcher } from '../../../selectors/plan.js'
import { pathBytesMax } from '../../../settings/limits.js'
import { decodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Scan, StoredTopic, Wanted } from '../../engine.js'
import type { BranchLimit } from '../../topics.js'
import { bytesArray, bytesOf } from '../sql/columns.js'
import { type Execute, ofTypes } from '../sql/statement.js'
import { type PlacedRow, PostgresTopic, readInRanges, rowsAt } from './topics.js'

/** Keys per batch: few while the matcher skips, many while it does not. */
const batchMin = 32
const batchMax = 1024

/** Topics in the order of their keys, with their rows if those were read, and the remaining ranges. */
interface Found {
  readonly keys: readonly Buffer[]
  readonly rows?: readonly PlacedRow[]
  readonly left: readonly KeyRange[]
}

/** Finds the next topics in the ranges; there is at least one range. @param batch the number of keys, if only keys are read */
type Find = (ranges: readonly KeyRange[], batch: number) => Promise<Found>

/** The first keys from `$1` to `$2`, at most `$3`. */
const readKeys = ofTypes<{ key: string }>(
  'read_keys',
  4,
  ({ within, order }) =>
    `select key from topicd.topics where ${within('$1::bytea', '$2::bytea')} order by ${order} limit $3::int`,
)

function findKeys(read: Execute, type: TopicType | undefined): Find {
  return async (ranges, batch) => {
    const [{ start, end }, ...others] = ranges as [KeyRange, ...KeyRange[]]
    const keys = (await readKeys(read, type, [start, end, batch])).map(({ key }) => bytesOf(key))
    return { keys, left: keys.length < batch ? others : rangesFrom(ranges, keyAfter(keys.at(-1) as Buffer)) }
  }
}

interface BranchRow {
  /** Null if nothing is taken from the branch. */
  readonly key: string | null
  /** The start of the next step. */
  readonly next: string
}

/**
 * From `$1` to `$2`: each step finds the next key with a seek. A key with fewer than `$3` segments is taken alone. Any other key is
 * in a branch: the first `$5` keys that share its first `$4` segments are taken, and the rest are skipped. There are at most `$7`
 * steps, and none after `$6` keys are taken.
 */
const readBranches = ofTypes<BranchRow>(
  'read_branches',
  8,
  ({ within, order }) => `
    with recursive steps (keys, next, step, taken) as (
      select array[]::bytea[], $1::bytea, 0, 0
      union all
      select b.keys, coalesce(r.stop, k.key || '\\x00'::bytea), s.step + 1, s.taken + cardinality(b.keys)
      from steps s
      cross join lateral (
        select key from topicd.topics where ${within('s.next', '$2::bytea')} order by ${order} limit 1
      ) k
      cross join lateral (
        select count(*) + 1 as segments, (array_agg(i order by i))[$4::int] as cut
        from generate_series(0, octet_length(k.key) - 1) i where get_byte(k.key, i) = 0
      ) z
      cross join lateral (
        select case when z.segments >= $3::int
          then substring(k.key from 1 for coalesce(z.cut, octet_length(k.key))) || '\\x01'::bytea end as stop
      ) r
      cross join lateral (
        select array(
          select key from topicd.topics
          where ${within('k.key', `least(coalesce(r.stop, k.key || '\\x00'::bytea), $2::bytea)`)}
            and (r.stop is null or $5::int > 0)
          order by ${order} limit greatest($5::int, 1)
        ) as keys
      ) b
      where s.taken < $6::int and s.step < $7::int
    )
    select k.key, s.next from steps s left join lateral unnest(s.keys) k (key) on true
    where s.step > 0 order by s.step, k.key`,
)

/** Steps per statement: a few ms of the engine's time. */
const stepsMax = 1000

/** A larger limit is left to the matcher: if that many keys are taken from a branch, few keys are read unnecessarily. */
const branchLimitMax = 100

/**
 * Finds, in the first range, as many keys of each branch as the limit allows, and all keys outside of branches. The matcher counts
 * the keys of a branch, because they may be in several ranges.
 *
 * @param ahead the number of keys to read ahead; one branch may exceed it
 */
function findBranches(read: Execute, type: TopicType | undefined, { depth, limit }: BranchLimit, ahead: number): Find {
  // With a limit of 0, all branches below the same parent are skipped in one step.
  const cut = limit === 0 ? depth - 1 : depth
  // Up to `limit` keys of the branch in which a page continues are counted but not taken.
  let most = ahead + limit
  return async (ranges) => {
    const [{ start, end }, ...others] = ranges as [KeyRange, ...KeyRange[]]
    const rows = await readBranches(read, type, [start, end, depth, cut, limit, most, stepsMax])
    const keys = rows.flatMap(({ key }) => (key === null ? [] : [bytesOf(key)]))
    // Read more than the page still needs: some topics may be removed before their rows are read.
    most = Math.max(most - keys.length, limit + batchMin)
    const last = rows.at(-1)
    if (last === undefined) return { keys, left: others }
    // The next range may contain the rest of the last branch, unless the branch is exhausted.
    const isExhausted = rows.filter(({ next }) => next === last.next).length >= limit
    const next = bytesOf(last.next)
    return { keys, left: isExhausted ? rangesFrom(ranges, next) : [...rangesFrom([{ start, end }], next), ...others] }
  }
}

/** Ranges to read together, once all topics of the earlier ranges have been found. */
export const rangesAtOnce = 8

/** Finds topics as rows, within the limits of `ahead`. */
function findRows(read: Execute, type: TopicType | undefined, { item, head }: Wanted, ahead: Scan['ahead']): Find {
  let width = 1
  return async (ranges) => {
    const some = ranges.slice(0, width)
    const starts = bytesArray(some.map(({ start }) => start))
    const ends = bytesArray(some.map(({ end }) => end))
    const parameters = [String(item), String(head), ahead.bytes, starts, ends, ahead.topics]
    const found = await readInRanges(read, type, parameters)
    const cut = cutOf(found, ahead.topics)
    const rows = found.slice(0, cut)
    const keys = rows.map(({ key }) => bytesOf(key))
    const left = cut === undefined ? ranges.slice(width) : rangesFrom(ranges, keyAfter(keys.at(-1) as Buffer))
    width = cut === undefined ? rangesAtOnce : 1
    return { keys, rows, left }
  }
}

/** Counts the rows before the first that does not fit, or through the one that reaches its range's limit; undefined if there is neither. */
function cutOf(rows: readonly PlacedRow[], limit: number): number | undefined {
  let count = 0
  for (const [i, { place, fits }] of rows.entries()) {
    if (fits !== 'true') return i
    count = place === rows[i - 1]?.place ? count + 1 : 1
    if (count === limit) return i + 1
  }
  return undefined
}

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
  // No path has more segments than bytes.
  if (branches !== undefined && branches.limit <= branchLimitMax && branches.depth <= pathBytesMax)
    return findBranches(read, type, branches, ahead.topics)
  return plan.matcher !== undefined || wanted === undefined ? findKeys(read, type) : findRows(read, type, wanted, ahead)
}

/** The keys that match, and the first later key that may match, if the matcher knows it. */
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

/** @returns whether to continue */
async function takeKeys(
  read: Execute,
  asked: Scan,
  keys: readonly Buffer[],
  cancellation: Cancellation,
): Promise<boolean> {
  const { type, wanted, ahead, take } = asked
  if (wanted === undefined) return takePaths(keys, () => undefined, take, cancellation)
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
