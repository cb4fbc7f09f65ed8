/**
 * Removes every match of a plan in bounded steps: collect matches, for one slice or until they fill a commit → remove those that
 * still exist → next slice. Also counts matches.
 */
import { strict as assert } from 'node:assert'
import type { Cancellation } from '../../../base/cancellation.js'
import type { Slice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Engine } from '../../engine.js'
import type { TopicReader, TopicRemover, TopicWriter } from '../../topics.js'
import { isRefused } from '../write/batch.js'

/** Removals per transaction of a bulk removal: a transaction takes a few ms, then lets other writes go first. */
const removalsInOneCommitMax = 500

/** Only paths are read. */
const ahead = { topics: 0, bytes: 0 }

export class Matches implements TopicRemover, Pick<TopicReader, 'countMatches'> {
  /** Batches of this process run one at a time, so that even many bulk removals do not fill a commit. */
  #lastBatch: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly engine: Pick<Engine, 'scan'>,
    private readonly write: TopicWriter['write'],
  ) {}

  readonly removeMatches = async ({ ranges, matcher }: Plan, cancellation: Cancellation): Promise<number> => {
    let removed = 0
    let left: readonly KeyRange[] = ranges
    while (left.length > 0) {
      const matches: Path[] = []
      /** The start of the next step; undefined if this step has reached the end. */
      let next: Buffer | undefined
      // A match counts as soon as it is found: an engine may find many matches before it calls `take`.
      const stepping = (path: string, slice: Slice): boolean | Buffer => {
        if (next !== undefined) return false
        const verdict = matcher === undefined || matcher(path, slice)
        if (verdict === true) matches.push(path as Path)
        const isWhole = matches.length === removalsInOneCommitMax || (matches.length > 0 && slice.isOver())
        if (!isWhole) return verdict
        // Remove the matches found so far before the scan continues: this key ends the step.
        next = typeof verdict === 'boolean' ? keyAfter(encodeKey(path as Path)) : verdict
        return true
      }
      const take = (): boolean => next === undefined
      await this.engine.scan(
        { plan: { ranges: left, matcher: stepping }, type: undefined, wanted: undefined, ahead, take },
        cancellation,
      )
      if (matches.length > 0) {
        const removals = matches.map((path) => ({ kind: 'remove', path, valueText: undefined }) as const)
        const batch = this.#lastBatch.then(() => this.write(removals))
        this.#lastBatch = batch.catch(() => 0)
        const result = await batch
        assert(!isRefused(result), 'a removal without a constraint is never rejected')
        removed += result.filter((outcome) => outcome === 'removed').length
      }
      left = next === undefined ? [] : rangesFrom(left, next)
    }
    return removed
  }

  readonly countMatches = async (plan: Plan, type: TopicType | 'any', cancellation: Cancellation): Promise<number> => {
    let count = 0
    const take = (): boolean => ++count > 0
    const counted = type === 'any' ? undefined : type
    await this.engine.scan({ plan, type: counted, wanted: undefined, ahead, take }, cancellation)
    return count
  }
}
