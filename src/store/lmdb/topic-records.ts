/**
 * The records of a topic, all that a creation, a new value or a removal changes in them. Each function prepares what it
 * needs, versions included, and returns a function that passes the writes to lmdb, without any condition: its caller
 * calls it within a condition block (writes.ts) or a transaction's callback (batches.ts).
 */
import type { Path } from '../../topics/path.js'
import { removalOf, retainsValue } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import type { TopicType } from '../../topics/topic.js'
import type { Moment } from '../clock.js'
import type { Creation } from '../store.js'
import { type Environment, plainVersion, propertiedVersion } from './environment.js'
import { type ItemBytes, putItem, type Slabs } from './slab.js'
import { type Details, dueKey, encodeSpecification, type Specification } from './specification.js'

type Put = () => void

/** Whether a topic that is created with these properties is a plain one. */
export function isPlainCreation({ properties }: Creation): boolean {
  return Object.keys(properties).length === 0
}

/** A new topic without properties. */
export function plainCreation(environment: Environment, path: Path, type: TopicType, item: ItemBytes): Put {
  const { specifications, items, nextVersion } = environment
  const record = encodeSpecification({ type, details: undefined })
  const version = nextVersion()
  return () => {
    void specifications.put(path, record, version)
    void putItem(items[type], path, item, plainVersion)
  }
}

/** A new topic with properties, created at this moment. */
export function propertiedCreation(
  environment: Environment,
  { path, type, properties, removal: policy }: Creation,
  item: ItemBytes,
  slabs: Slabs,
  created: Moment,
): Put {
  const { specifications, items, updates, due, nextVersion } = environment
  const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), nextVersion())
  const details: Details = { properties, created, due: key?.toString('hex') }
  const kept = retainsValue(properties) ? item : slabs.item(path, type, undefined)
  const [version, updateVersion] = [nextVersion(), nextVersion()]
  return () => {
    void specifications.put(path, encodeSpecification({ type, details }), version)
    void putItem(items[type], path, kept, propertiedVersion)
    if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), updateVersion)
    if (key !== undefined) void due.put(key, Buffer.from(path))
  }
}

/** A value for a topic with these properties, set at this moment; undefined if it changes no record. */
export function propertiedUpdate(
  environment: Environment,
  path: Path,
  type: TopicType,
  { properties }: Details,
  item: ItemBytes,
  now: () => Moment,
): Put | undefined {
  const { items, updates, nextVersion } = environment
  const retains = retainsValue(properties)
  const policy = removalOf(properties)
  const tracks = policy !== undefined && tracksUpdates(policy)
  if (!retains && !tracks) return undefined
  return () => {
    if (retains) void putItem(items[type], path, item, propertiedVersion)
    if (tracks) void updates.put(path, Buffer.from(JSON.stringify(now())), nextVersion())
  }
}

/** The removal of a topic that was read as `stored`. */
export function removal(environment: Environment, path: Path, { type, details }: Specification): Put {
  const { specifications, items, updates, due } = environment
  return () => {
    void specifications.remove(path)
    void items[type].remove(path)
    if (details !== undefined) void updates.remove(path)
    if (details?.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
  }
}
