/** Plans that count the matches in each branch, and skip the rest of the branch once the limit is reached. Nothing is read here. */
import type { Matcher, Plan } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import { isWithin, type Path } from '../../../topics/path.js'
import { keyAfter, keyAfterSubtree, rangesAfter, rangesFrom } from '../../../topics/range.js'
import type { BranchLimit } from '../../topics.js'

/** The root of a path's branch: its first `depth` segments; undefined if it has fewer. */
function branchOf(path: string, depth: number): string | undefined {
  let slash = -1
  for (let segment = 1; segment < depth; segment++) {
    slash = path.indexOf('/', slash + 1)
    if (slash === -1) return undefined
  }
  const end = path.indexOf('/', slash + 1)
  return end === -1 ? path : path.slice(0, end)
}

/**
 * Returns a plan for the results after `after`, with the limit applied.
 *
 * Its matcher is stateful: use it for a single scan, which passes each key to it once, in order, except skipped keys. Ranges start
 * at the root of `after`'s branch, so that earlier matches count without being returned.
 */
export function limitBranches(plan: Plan, { depth, limit }: BranchLimit, after: Path | undefined): Plan {
  if (limit === 0) return withoutBranches(plan, depth, after)
  const afterKey = after === undefined ? undefined : encodeKey(after)
  const branch = after === undefined ? undefined : branchOf(after, depth)
  const start = branch === undefined ? afterKey && keyAfter(afterKey) : encodeKey(branch)
  const ranges = start === undefined ? plan.ranges : rangesFrom(plan.ranges, start)
  return { ranges, matcher: limited(plan.matcher, { depth, limit }, afterKey) }
}

/** Counts a branch's matches up to `afterKey`, and takes those beyond it. */
function limited(matcher: Matcher | undefined, { depth, limit }: BranchLimit, afterKey: Buffer | undefined): Matcher {
  let branch: string | undefined
  let matches = 0
  let isBeyond = afterKey === undefined
  return (path, slice) => {
    const isInBranch = branch !== undefined && isWithin(path as Path, branch as Path)
    if (isInBranch && matches === limit) return keyAfterSubtree(encodeKey(branch as Path))
    const verdict = matcher === undefined || matcher(path, slice)
    if (verdict !== true) return verdict
    if (!isInBranch) {
      branch = branchOf(path, depth)
      matches = 0
    }
    matches++
    isBeyond ||= Buffer.compare(encodeKey(path), afterKey as Buffer) > 0
    return isBeyond
  }
}

/** Matches topics with fewer than `depth` segments; all others below the same parent are skipped in one step. */
function withoutBranches({ ranges, matcher }: Plan, depth: number, after: Path | undefined): Plan {
  if (depth === 1) return { ranges: [], matcher }
  return {
    ranges: rangesAfter(ranges, after),
    matcher(path, slice) {
      if (branchOf(path, depth) === undefined) return matcher === undefined || matcher(path, slice)
      return keyAfterSubtree(encodeKey(branchOf(path, depth - 1) as Path))
    },
  }
}
