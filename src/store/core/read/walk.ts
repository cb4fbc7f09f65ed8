/**
 * Walks the topics of a snapshot, for export. The snapshot stays open for the whole walk, so a process that serves requests must
 * not do this.
 */
import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import type { Plan } from '../../../selectors/plan.js'
import { valueOfItem } from '../../../topics/item.js'
import type { Path } from '../../../topics/path.js'
import { everyTopic, type KeyRange, rangesAfter } from '../../../topics/range.js'
import type { Engine, StoredTopic } from '../../engine.js'
import { damaged, StoreError, UnreadableTopic } from '../../errors.js'
import type { WholeTopic } from '../../topics.js'

/** Maximum topics, and bytes of their items, copied per step; the last item may exceed the byte limit. */
const topicsAtOnceMax = 500
const bytesAtOnceMax = 1024 * 1024

/**
 * Yields topics in tree order, in slices.
 *
 * @throws StoreUnusable at a damaged page, or at the end if some topics could not be read; StoreError if the engine is lost
 */
export async function* walk(
  engine: Pick<Engine, 'openSnapshot'>,
  plan: Plan,
  cancellation: Cancellation,
): AsyncGenerator<WholeTopic> {
  const snapshot = await engine.openSnapshot()
  const { ranges, matcher } = plan
  const wanted = { head: true, item: true, version: false }
  const ahead = { topics: topicsAtOnceMax, bytes: bytesAtOnceMax }
  let left: readonly KeyRange[] = ranges
  let visited = 0
  let lost = 0
  let firstLost: Path | undefined
  try {
    while (left.length > 0) {
      const topics: WholeTopic[] = []
      let bytes = 0
      let last: Path | undefined
      const take = (path: Path, topic: StoredTopic | undefined): boolean => {
        visited++
        const whole = topic && wholeTopic(path, topic)
        if (whole !== undefined) topics.push(whole)
        else {
          lost++
          firstLost ??= path
        }
        bytes += topic?.item?.length ?? 0
        const isFull = topics.length === topicsAtOnceMax || bytes >= bytesAtOnceMax
        last = isFull ? path : undefined
        return !isFull
      }
      await snapshot.scan({ plan: { ranges: left, matcher }, type: undefined, wanted, ahead, take }, cancellation)
      yield* topics
      left = last === undefined ? [] : rangesAfter(left, last)
    }
  } catch (error) {
    throw error instanceof Cancelled || error instanceof StoreError ? error : damaged(error)
  } finally {
    await snapshot.close()
  }
  if (coversAll(plan)) lost += Math.abs((snapshot.stated?.topics ?? visited) - visited)
  if (lost === 0) return
  const topics = `${lost} ${lost === 1 ? 'topic' : 'topics'}${firstLost === undefined ? '' : `, the first at "${firstLost}",`}`
  throw damaged(`${topics} could not be read; all others could`)
}

function coversAll({ ranges, matcher }: Plan): boolean {
  const [range] = ranges
  if (matcher !== undefined || range === undefined || ranges.length !== 1) return false
  return Buffer.compare(range.start, everyTopic.start) <= 0 && Buffer.compare(range.end, everyTopic.end) >= 0
}

/** A copy of a topic; undefined if it cannot be read. */
function wholeTopic(path: Path, topic: StoredTopic): WholeTopic | undefined {
  const { type, item } = topic
  if (item === undefined) return undefined
  try {
    const properties = topic.head()?.properties ?? {}
    return { path, type, properties, valueText: valueOfItem(Buffer.from(item), path, type) }
  } catch (error) {
    if (error instanceof UnreadableTopic) return undefined
    throw error
  }
}
