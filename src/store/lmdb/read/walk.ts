/**
 * Every topic in one snapshot, for export. The snapshot is held for the whole walk, and pages freed meanwhile are not
 * reused, so the file may grow; a process that serves requests should not do this.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import type { Path } from '../../../topics/path.js'
import { everyTopic } from '../../../topics/range.js'
import { valueOfItem } from '../../../topics/topic.js'
import { damaged, damagedTopics } from '../../errors.js'
import type { WholeTopic } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { readable } from './specification.js'
import { createOrder, openSnapshot, type Snapshot } from './whole-snapshot.js'

function coversAll({ ranges, matcher }: Plan): boolean {
  const [range] = ranges
  if (matcher !== undefined || range === undefined || ranges.length !== 1) return false
  return Buffer.compare(range.start, everyTopic.start) <= 0 && Buffer.compare(range.end, everyTopic.end) >= 0
}

/**
 * Every match of the plan, complete, in tree order. Other work gets its turn in between.
 *
 * @throws StoreUnusable when it meets a damaged page, or at its end when some topics could not be read
 */
export async function* walk(
  environment: Environment,
  plan: Plan,
  cancellation: Cancellation,
): AsyncGenerator<WholeTopic> {
  const { snapshot, entries } = openSnapshot(environment)
  const counts: Counts = { visited: 0, lost: 0, firstLost: undefined }
  try {
    yield* walkSnapshot(environment, snapshot, plan, counts, cancellation)
  } catch (error) {
    throw error instanceof Cancelled ? error : damaged(error)
  } finally {
    snapshot.transaction.done()
  }
  const unseen = coversAll(plan) ? Math.abs(entries.specifications - counts.visited) : 0
  const lost = counts.lost + unseen
  if (lost > 0) throw damagedTopics(lost, counts.firstLost)
}

interface Counts {
  visited: number
  lost: number
  firstLost: Path | undefined
}

async function* walkSnapshot(
  { specifications, items }: Environment,
  snapshot: Snapshot,
  plan: Plan,
  counts: Counts,
  cancellation: Cancellation,
): AsyncGenerator<WholeTopic> {
  const isInOrder = createOrder()
  let slice = await waitForSlice(cancellation)
  for (const range of plan.ranges) {
    let start: Buffer | undefined = range.start
    while (start !== undefined) {
      const options = { ...snapshot, start, end: range.end }
      start = undefined
      for (const { key, value } of specifications.getRange(options)) {
        const path = key as Path
        if (!isInOrder(path)) throw new Error(`topic "${path}" is out of order`)
        counts.visited++
        if (slice.isOver()) slice = await waitForSlice(cancellation)
        const verdict = plan.matcher === undefined || plan.matcher(path, slice)
        if (verdict === true) {
          const specification = readable(value)
          const item = specification && items[specification.type].get(path, snapshot)
          if (specification === undefined || item === undefined) {
            counts.lost++
            counts.firstLost ??= path
            continue
          }
          const { type, details } = specification
          yield { path, type, properties: details?.properties ?? {}, valueText: valueOfItem(item, path, type) }
        } else if (verdict !== false) {
          start = verdict
          break
        }
      }
    }
  }
}
