/**
 * Changing topics: set, add, addAndSet, remove. Each reads the topic's specification, decides, and passes lmdb writes
 * under the condition that what it decided by still holds; lmdb evaluates the condition inside the transaction, across
 * all processes. When it does not hold, nothing is written, and the decision is made again on a fresh snapshot. So
 * deciding and writing are one step, and no JavaScript runs for a topic while the write lock is held.
 *
 * The conditions: an item of a topic without properties is replaced if an item of that version is there (its type and
 * existence are all that the decision depends on). Everything else is conditional on the specification's version, which
 * is unique for every write of that record.
 */
import { conflictsMax } from '../../limits.js'
import type { Path } from '../../topics/path.js'
import { compatible, removalOf, retainsValue } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { encodeItem, type TopicType } from '../../topics/topic.js'
import type { Clock } from '../clock.js'
import { type Creation, StoreError, type TopicStore } from '../store.js'
import type { Commits } from './commits.js'
import { type Environment, plainVersion, propertiedVersion } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import {
  type Details,
  dueKey,
  encodeSpecification,
  readSpecification,
  type StoredSpecification,
} from './specification.js'

/** The outcome, or a write that resolves with it, or with undefined when the write's condition did not hold. */
type Decision<T> = T | Promise<T | undefined>

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Writes implements Pick<TopicStore, 'set' | 'add' | 'addAndSet' | 'remove'> {
  readonly #environment: Environment
  readonly #snapshots: Snapshots
  readonly #commits: Commits
  readonly #now: Clock

  constructor(environment: Environment, snapshots: Snapshots, commits: Commits, now: Clock) {
    this.#environment = environment
    this.#snapshots = snapshots
    this.#commits = commits
    this.#now = now
  }

  readonly set: TopicStore['set'] = (path, type, valueText) => {
    const item = encodeItem(path, type, valueText)
    return this.#settleDecision(() => {
      const stored = readSpecification(this.#environment.specifications, path)
      if (stored === undefined) return 'no_such_topic'
      if (stored.type !== type) return 'incompatible_type'
      return this.#overwrite(path, stored, item, 'set')
    })
  }

  readonly add: TopicStore['add'] = (creation) => {
    const item = encodeItem(creation.path, creation.type, undefined)
    return this.#settleDecision<'created' | 'present'>(() => {
      if (this.#environment.specifications.getBinaryFast(creation.path) !== undefined) return 'present'
      return this.#create(creation, item, 'created')
    })
  }

  readonly addAndSet: TopicStore['addAndSet'] = (creation, valueText) => {
    const { path, type, properties } = creation
    const item = encodeItem(path, type, valueText)
    return this.#settleDecision<'created' | 'updated' | 'incompatible_type' | 'incompatible_properties'>(() => {
      const stored = readSpecification(this.#environment.specifications, path)
      if (stored === undefined) return this.#create(creation, item, 'created')
      if (stored.type !== type) return 'incompatible_type'
      if (!compatible(stored.details?.properties ?? {}, properties)) return 'incompatible_properties'
      return this.#overwrite(path, stored, item, 'updated')
    })
  }

  readonly remove: TopicStore['remove'] = (path) => this.#settleDecision(() => this.#decideRemoval(path))

  /** Removes a topic that was read as `stored`; if it has changed since, it is read and decided on again. */
  async removeRead(path: Path, stored: StoredSpecification): Promise<boolean> {
    return (await this.#removeStored(path, stored)) || this.#decideAgain(() => this.#decideRemoval(path))
  }

  #settleDecision<T>(decide: () => Decision<T>): Promise<T> {
    this.#snapshots.forRequest()
    const decision = decide()
    if (!(decision instanceof Promise)) return Promise.resolve(decision)
    return decision.then((outcome) => outcome ?? this.#decideAgain(decide))
  }

  async #decideAgain<T>(decide: () => Decision<T>): Promise<T> {
    for (let conflicts = 1; conflicts < conflictsMax; conflicts++) {
      const outcome = await this.#snapshots.alone(decide)
      if (outcome !== undefined) return outcome
    }
    throw new StoreError('retry', 'too many concurrent writes to one topic')
  }

  #overwrite<T>(path: Path, stored: StoredSpecification, item: Buffer, outcome: T): Decision<T> {
    const { type, details, version } = stored
    const { specifications, items, updates, nextVersion } = this.#environment
    if (details === undefined)
      return this.#commits.run(outcome, () => items[type].put(path, item, plainVersion, plainVersion))
    const retains = retainsValue(details.properties)
    const policy = removalOf(details.properties)
    const tracks = policy !== undefined && tracksUpdates(policy)
    if (!retains && !tracks) return outcome
    return this.#commits.run(outcome, () =>
      specifications.ifVersion(path, version, () => {
        if (retains) void items[type].put(path, item, propertiedVersion)
        if (tracks) void updates.put(path, Buffer.from(JSON.stringify(this.#now())), nextVersion())
      }),
    )
  }

  #create<T>(creation: Creation, item: Buffer, outcome: T): Decision<T> {
    return this.#commits.run(outcome, () =>
      Object.keys(creation.properties).length === 0
        ? this.#putPlain(creation.path, creation.type, item)
        : this.#putPropertied(creation, item),
    )
  }

  #putPlain(path: Path, type: TopicType, item: Buffer): Promise<boolean> {
    const { specifications, items, nextVersion } = this.#environment
    const record = encodeSpecification({ type, details: undefined })
    return specifications.ifNoExists(path, () => {
      void specifications.put(path, record, nextVersion())
      void items[type].put(path, item, plainVersion)
    })
  }

  #putPropertied({ path, type, properties, removal: policy }: Creation, item: Buffer): Promise<boolean> {
    const { specifications, items, updates, due, nextVersion } = this.#environment
    const created = this.#now()
    const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), nextVersion())
    const details: Details = { properties, created, due: key?.toString('hex') }
    return specifications.ifNoExists(path, () => {
      void specifications.put(path, encodeSpecification({ type, details }), nextVersion())
      void items[type].put(path, retainsValue(properties) ? item : encodeItem(path, type, undefined), propertiedVersion)
      if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), nextVersion())
      if (key !== undefined) void due.put(key, Buffer.from(path))
    })
  }

  #decideRemoval(path: Path): Decision<boolean> {
    const stored = readSpecification(this.#environment.specifications, path)
    if (stored === undefined) return false
    return this.#removeStored(path, stored).then((removed) => removed || undefined)
  }

  #removeStored(path: Path, stored: StoredSpecification): Promise<boolean> {
    const { type, details, version } = stored
    const { specifications, items, updates, due } = this.#environment
    const removed = this.#commits.run(true, () =>
      specifications.ifVersion(path, version, () => {
        void specifications.remove(path)
        void items[type].remove(path)
        if (details !== undefined) void updates.remove(path)
        if (details?.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
      }),
    )
    return removed.then((done) => done === true)
  }
}
