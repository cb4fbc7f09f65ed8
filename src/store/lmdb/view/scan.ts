/**
 * Visiting the matching keys of a plan in slices. Only keys are scanned, jumping where the matcher says so, and what is wanted
 * of the matches is read one by one. Between slices no snapshot is held, unless the caller holds one: a scan goes on after
 * the last key that it saw, so that a topic that exists throughout is found exactly once, in order.
 */
import type { Transaction } from 'lmdb'
import type { Slice } from '../../../base/time-slices.js'
import type { Matcher } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { Tree } from '../environment/environment.js'

/** What is visited. */
interface Visit {
  /** The database whose keys are scanned. */
  readonly tree: Tree
  /** The snapshot to read in; the current one without it. */
  readonly transaction: Transaction | undefined
  readonly matcher: Matcher | undefined
  /** Whether the records at the keys are read with them: cheaper than later, if most keys match. */
  readonly hasRecords: boolean
  /** Called with each match, and its record if those are read; false ends the walk. */
  readonly visit: (path: Path, record: Buffer | undefined) => boolean
}

/**
 * Visits the matching keys of the ranges, in order, until the slice is over.
 *
 * The clock is read for every key: that costs a tenth of a step, while one call of the worst matcher costs as much as a
 * thousand steps.
 *
 * @returns the ranges that are left when time is up; undefined when the walk has ended
 */
export function walkKeys(
  { tree, transaction, matcher, hasRecords, visit }: Visit,
  ranges: readonly KeyRange[],
  slice: Slice,
): readonly KeyRange[] | undefined {
  let index = 0
  let range = ranges[0]
  let from = range?.start
  while (range !== undefined) {
    const { end } = range
    let jump: Buffer | undefined
    const options = { start: from, end, ...(transaction && { transaction }) }
    const entries = hasRecords ? tree.getRange(options) : (tree.getKeys(options) as Iterable<Path>)
    for (const entry of entries) {
      const path = typeof entry === 'string' ? entry : (entry.key as Path)
      const verdict = matcher === undefined || matcher(path, slice)
      const record = typeof entry === 'string' ? undefined : entry.value
      if (verdict === true && !visit(path, record)) return undefined
      if (typeof verdict === 'object') jump = verdict
      if (slice.isOver()) return rangesFrom(ranges.slice(index), jump ?? keyAfter(encodeKey(path)))
      if (jump !== undefined) break
    }
    const reached = jump ?? end
    while (range !== undefined && Buffer.compare(range.end, reached) <= 0) range = ranges[++index]
    if (range === undefined) break
    from = Buffer.compare(range.start, reached) < 0 ? reached : range.start
    if (jump === undefined && slice.isOver()) return ranges.slice(index)
  }
  return undefined
}
