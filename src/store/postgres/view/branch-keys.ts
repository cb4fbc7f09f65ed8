/**
 * The keys of limited branches, for plans without a matcher: one statement finds branch after branch, each by a seek,
 * and reads only as many keys of each as the limit allows. Nothing is held open between statements.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { pathBytesMax } from '../../../settings/limits.js'
import { decodeKey, encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesAfter, rangesFrom, subtreeRange } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import { branchOf } from '../../core/read/branches.js'
import type { LimitedBranches } from '../../engine.js'
import type { BranchLimit } from '../../topics.js'
import { bytesOf } from '../sql/arrays.js'
import { typeNumbers } from '../sql/rows.js'
import { type Execute, hasType, type Statement } from '../sql/statement.js'
import { keysOf } from './matching-keys.js'

interface BranchRow {
  /** Null for a branch of which nothing is taken. */
  readonly key: string | null
  /** Where the step after this one begins. */
  readonly next: string
}

/**
 * From `$1` to `$2`: each step finds the next key. A key with fewer than `$3` segments is taken alone. Any other is in
 * a branch: of the keys that begin with its first `$4` segments, `$5` are taken, and the rest are skipped. There are at
 * most `$7` steps, and none begins once `$6` keys are taken.
 *
 * @param bounded the condition that a key is at or after the first text and before the second
 * @param order of such keys
 */
function branchesStatement(
  name: string,
  bounded: (from: string, to: string) => string,
  order: string,
): Statement<BranchRow> {
  return {
    name,
    text: `
      with recursive steps (keys, next, step, taken) as (
        select array[]::bytea[], $1::bytea, 0, 0
        union all
        select b.keys, coalesce(r.stop, k.key || '\\x00'::bytea), s.step + 1, s.taken + cardinality(b.keys)
        from steps s
        cross join lateral (
          select key from topicd.topics where ${bounded('s.next', '$2::bytea')} order by ${order} limit 1
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
            where ${bounded('k.key', `least(coalesce(r.stop, k.key || '\\x00'::bytea), $2::bytea)`)}
              and (r.stop is null or $5::int > 0)
            order by ${order} limit greatest($5::int, 1)
          ) as keys
        ) b
        where s.taken < $6::int and s.step < $7::int
      )
      select k.key, s.next from steps s left join lateral unnest(s.keys) k (key) on true
      where s.step > 0 order by s.step, k.key`,
  }
}

const readBranches = branchesStatement('read_branches', (from, to) => `key >= ${from} and key < ${to}`, 'key')

/** Both columns are on both sides of each comparison, so that only the index by type and key can serve it. */
const readBranchesOfType = branchesStatement(
  'read_branches_of_type',
  (from, to) => `${hasType} and (type, key) >= ($8::smallint, ${from}) and (type, key) < ($8::smallint, ${to})`,
  'type, key',
)

/** Steps of one statement: some ms of the engine's time. */
const stepsMax = 1000

/** A larger limit is left to the matcher: where so many keys are taken of a branch, that hardly reads any in vain. */
const branchLimitMax = 100

/** Whether the keys of these branches are found by this file. */
export function takesBranches({ plan, depth, limit }: LimitedBranches): boolean {
  // No path has more segments than bytes.
  return plan.matcher === undefined && limit <= branchLimitMax && depth <= pathBytesMax
}

/** The branch that was read last: where it ends, and what is left of its limit. */
interface OpenBranch {
  readonly stop: Buffer
  readonly left: number
}

/**
 * The keys after `after`, with the limit applied, in order and in batches; a batch may be empty.
 *
 * @param branches of which `takesBranches` is true
 * @param ahead how many keys are worth reading at once
 * @throws Cancelled once `cancellation` is set
 */
export async function* branchKeys(
  read: Execute,
  branches: LimitedBranches,
  type: TopicType | undefined,
  ahead: number,
  cancellation: Cancellation,
): AsyncGenerator<Buffer[]> {
  const { plan, depth, limit, after } = branches
  if (limit === 0 && depth === 1) return
  let open = after === undefined ? undefined : await branchAt(read, branches, type, after)
  for (const { start, end } of rangesAfter(plan.ranges, after)) {
    let from = start
    if (open !== undefined && Buffer.compare(from, open.stop) < 0) {
      const part = { start: from, end: Buffer.compare(open.stop, end) < 0 ? open.stop : end }
      const keys = open.left === 0 ? [] : await keysOf(read, part, type, open.left)
      yield keys
      open = { stop: open.stop, left: open.left - keys.length }
      from = part.end
    }
    while (Buffer.compare(from, end) < 0) {
      if (cancellation.aborted) throw new Cancelled()
      const rows = await readSteps(read, { start: from, end }, branches, type, ahead)
      const keys = rows.flatMap(({ key }) => (key === null ? [] : [bytesOf(key)]))
      yield keys
      open = lastBranch(keys, branches) ?? open
      const last = rows.at(-1)
      from = last === undefined ? end : bytesOf(last.next)
    }
  }
}

function readSteps(
  read: Execute,
  { start, end }: KeyRange,
  { depth, limit }: BranchLimit,
  type: TopicType | undefined,
  ahead: number,
): Promise<readonly BranchRow[]> {
  // Without results, all branches below the same parent are skipped at once.
  const cut = limit === 0 ? depth - 1 : depth
  const parameters = [start, end, depth, cut, limit, ahead, stepsMax]
  return type === undefined
    ? read(readBranches, parameters)
    : read(readBranchesOfType, [...parameters, typeNumbers[type]])
}

/** The branch that `after` is in, with what its keys up to `after` leave of its limit. */
async function branchAt(
  read: Execute,
  { plan, depth, limit }: LimitedBranches,
  type: TopicType | undefined,
  after: Path,
): Promise<OpenBranch | undefined> {
  const root = branchOf(after, depth)
  if (root === undefined) return undefined
  const { start, end: stop } = subtreeRange(root as Path)
  const beyond = keyAfter(encodeKey(after))
  let left = limit
  for (const range of rangesFrom(plan.ranges, start)) {
    if (left === 0 || Buffer.compare(range.start, beyond) >= 0) break
    const end = Buffer.compare(range.end, beyond) < 0 ? range.end : beyond
    left -= (await keysOf(read, { start: range.start, end }, type, left)).length
  }
  return { stop, left }
}

/** The branch of the last of these keys, which are all that were taken of it. */
function lastBranch(keys: readonly Buffer[], { depth, limit }: BranchLimit): OpenBranch | undefined {
  const last = keys.at(-1)
  const root = last && branchOf(decodeKey(last), depth)
  if (root === undefined) return undefined
  const { start, end: stop } = subtreeRange(root as Path)
  const taken = keys.filter((key) => Buffer.compare(key, start) >= 0).length
  return { stop, left: limit - taken }
}
