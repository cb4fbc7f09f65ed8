/** The due time of a topic's policy. Pure. */
import { type Moment, wallMsOf } from '../../base/clock.js'
import type { Path } from '../../topics/path.js'
import { removalOf } from '../../topics/properties.js'
import { dueMs, type RemovalPolicy, tracksUpdates } from '../../topics/removal/policy.js'
import type { DuePlace, StoredTopic } from '../engine.js'
import { readOf } from '../errors.js'

export interface Evaluated {
  /** As Unix time in ms. */
  readonly dueMs: number
  readonly isDue: boolean
  /** The selector of the policy's `remove` clause, if any. */
  readonly selector: string | undefined
}

/** Evaluates the policy of the topic at a path; undefined if that topic does not own the place. @throws UnreadableTopic */
export function ownedBy(place: DuePlace, path: Path, topic: StoredTopic, present: Moment): Evaluated | undefined {
  const head = topic.head()
  if (head?.due?.id !== place.id) return undefined
  return readOf(path, () => {
    const policy = removalOf(head.properties)
    if (policy === undefined) return undefined
    const updated = tracksUpdates(policy) ? topic.updated() : undefined
    const atMs = dueMsOf(policy, head.created, updated, present)
    return { dueMs: atMs, isDue: atMs <= present.wallMs, selector: policy.selector }
  })
}

/** @param updated required if updates defer the policy @throws RangeError if an engine cannot store the resulting time */
export function dueMsOf(policy: RemovalPolicy, created: Moment, updated: Moment | undefined, present: Moment): number {
  const createdMs = wallMsOf(created, present)
  const atMs = dueMs(policy, createdMs, updated === undefined ? createdMs : wallMsOf(updated, present))
  if (!Number.isSafeInteger(Math.floor(atMs)))
    throw new RangeError('the time of its creation or its last update is no time')
  return atMs
}
