/**
 * Removing every match of a plan, in bounded steps: collect matches, for one slice or until they fill a commit → remove
 * those that are still there → the next slice. No snapshot is held between slices. Also counting the matches.
 */
import { strict as assert } from 'node:assert'
import type { Cancellation } from '../../../base/cancellation.js'
import { type Slice, waitForSlice } from '../../../base/time-slices.js'
import type { Matcher, Plan } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import { isRefused } from '../../shared/batch.js'
import type { TopicReader, TopicRemover } from '../../topics.js'
import type { Environment, Tree } from '../environment/environment.js'
import { walkKeys } from '../read/match-scan.js'
import type { Snapshots } from '../read/read-freshness.js'
import type { Writing } from '../write/writes.js'

/** Removals in one transaction of a bulk removal: it takes a few ms, then lets other writes go first. */
const removalsInOneCommitMax = 500

export class BulkRemoval implements TopicRemover, Pick<TopicReader, 'countMatches'> {
  readonly #specifications: Tree
  readonly #items: Environment['items']
  #lastBatch: Promise<unknown> = Promise.resolve()

  constructor(
    { specifications, items }: Environment,
    private readonly snapshots: Snapshots,
    private readonly write: Writing['write'],
  ) {
    this.#specifications = specifications
    this.#items = items
  }

  /** An arrow function in a field: bound, so that the store has it as its own without a wrapper. */
  readonly removeMatches = async ({ ranges, matcher }: Plan, cancellation: Cancellation): Promise<number> => {
    let removed = 0
    let left: readonly KeyRange[] | undefined = ranges
    while (left !== undefined) {
      const slice = await waitForSlice(cancellation)
      const from: readonly KeyRange[] = left
      const matches: Path[] = []
      left = this.snapshots.alone(() => this.#collect(from, matcher, matches, slice))
      if (matches.length > 0) removed += await this.#afterLastBatch(() => this.#removeAll(matches))
    }
    return removed
  }

  readonly countMatches = async (
    { ranges, matcher }: Plan,
    type: TopicType | 'any',
    cancellation: Cancellation,
  ): Promise<number> => {
    const tree = type === 'any' ? this.#specifications : this.#items[type]
    let count = 0
    const visit = (): boolean => ++count > 0
    let left: readonly KeyRange[] | undefined = ranges
    while (left !== undefined) {
      const slice = await waitForSlice(cancellation)
      const from: readonly KeyRange[] = left
      left = this.snapshots.alone(() => walkKeys(tree, from, matcher, visit, slice))
    }
    return count
  }

  /**
   * Collects the matches to remove next, for one slice or until they fill a commit.
   *
   * @returns the ranges that are left; undefined when there is nothing more
   */
  #collect(
    from: readonly KeyRange[],
    matcher: Matcher | undefined,
    matches: Path[],
    slice: Slice,
  ): readonly KeyRange[] | undefined {
    const visit = (path: Path): boolean => matches.push(path) < removalsInOneCommitMax
    const left = walkKeys(this.#specifications, from, matcher, visit, slice)
    const last = matches.at(-1)
    if (last === undefined || matches.length < removalsInOneCommitMax) return left
    return rangesFrom(from, keyAfter(encodeKey(last)))
  }

  async #removeAll(matches: readonly Path[]): Promise<number> {
    const result = await this.write(matches.map((path) => ({ kind: 'remove', path, valueText: undefined })))
    assert(!isRefused(result), 'no removal without a constraint is refused')
    return result.filter((outcome) => outcome === 'removed').length
  }

  /**
   * Runs the batches of this process one after the other, so that they do not fill a commit, however many bulk removals
   * there are.
   */
  #afterLastBatch(batch: () => Promise<number>): Promise<number> {
    const removed = this.#lastBatch.then(batch)
    this.#lastBatch = removed.catch(() => 0)
    return removed
  }
}
