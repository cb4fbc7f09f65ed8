/**
 * The records of a topic, all that a creation, a new value or a removal changes in them. Each function writes at once,
 * so it must be called within a transaction's callback (topic-changes.ts).
 */

import type { Moment } from '../../../base/clock.js'
import type { Path } from '../../../topics/path.js'
import { retainsValue } from '../../../topics/properties.js'
import { dueMs, type RemovalPolicy, tracksUpdates } from '../../../topics/removal/policy.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Creation } from '../../topics.js'
import { type Environment, recordVersion } from '../environment/environment.js'
import { type Details, dueKey, encodeSpecification, type Specification } from '../view/specification.js'
import { type ItemBytes, putItem, type Slabs } from './slab.js'

/** A topic with properties, as it is stored; the policy is that of its properties. */
interface Propertied {
  readonly type: TopicType
  readonly details: Details
  readonly policy: RemovalPolicy | undefined
}

/** Whether a topic that is created with these properties is a plain one. */
export function isPlainCreation({ properties }: Creation): boolean {
  return Object.keys(properties).length === 0
}

/** A new topic without properties. */
export function plainCreation(
  environment: Environment,
  path: Path,
  type: TopicType,
  item: ItemBytes,
  version: number,
): void {
  const { specifications, items } = environment
  void specifications.put(path, encodeSpecification({ type, details: undefined }), recordVersion)
  putItem(items[type], path, item, version)
}

/** A new topic with properties, created at this moment. */
export function propertiedCreation(
  environment: Environment,
  { path, type, properties, removal: policy }: Creation,
  item: ItemBytes,
  slabs: Slabs,
  created: Moment,
  version: number,
): void {
  const { specifications, items, updates, due, nextDueNumber } = environment
  const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), nextDueNumber())
  const details: Details = { properties, created, due: key?.toString('hex') }
  const kept = retainsValue(properties) ? item : slabs.item(path, type, undefined)
  void specifications.put(path, encodeSpecification({ type, details }), recordVersion)
  putItem(items[type], path, kept, version)
  if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), recordVersion)
  if (key !== undefined) void due.put(key, Buffer.from(path))
}

/** A value for a topic with these properties, set at this moment. One that is not retained still gives it a version. */
export function propertiedUpdate(
  environment: Environment,
  path: Path,
  { type, details, policy }: Propertied,
  item: ItemBytes,
  slabs: Slabs,
  updated: Moment,
  version: number,
): void {
  const { items, updates } = environment
  const kept = retainsValue(details.properties) ? item : slabs.item(path, type, undefined)
  putItem(items[type], path, kept, version)
  if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(updated)), recordVersion)
}

/** The removal of a topic that was read as `stored`. */
export function removal(environment: Environment, path: Path, { type, details }: Specification): void {
  const { specifications, items, updates, due } = environment
  void specifications.remove(path)
  void items[type].remove(path)
  if (details !== undefined) void updates.remove(path)
  if (details?.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
}
