/**
 * Changing topics: set, add, addAndSet, remove. Each reads what is at the topic's path, or guesses it, decides, and
 * passes lmdb writes under the condition that what it decided by still holds; lmdb evaluates the condition inside the
 * transaction, across all processes. When it does not hold, nothing is written, and the decision is made again by a
 * read on a fresh snapshot. So deciding and writing are one step, and no JavaScript runs for a topic while the write
 * lock is held.
 *
 * The conditions: an item of a topic without properties is replaced, or removed with its specification, if there is an
 * item with the version of such topics: its type and existence are all that the decision depends on. Nothing is read
 * before if this process has lately seen such a topic. Everything else is conditional on the specification's version,
 * which is unique for every write of that record.
 */
import { getLastVersion } from 'lmdb'
import { conflictsMax } from '../../limits.js'
import type { Path } from '../../topics/path.js'
import { compatible, removalOf, retainsValue } from '../../topics/properties.js'
import { dueMs, tracksUpdates } from '../../topics/removal-policy.js'
import { type TopicType, topicTypes } from '../../topics/topic.js'
import type { Clock } from '../clock.js'
import { type Absent, type Creation, StoreError, type TopicStore } from '../store.js'
import type { Commits } from './commits.js'
import { type Environment, plainVersion, propertiedVersion } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { PlainTopics } from './plain-topics.js'
import { type ItemBytes, putItem, Slabs } from './slab.js'
import {
  type Details,
  dueKey,
  encodeSpecification,
  readSpecification,
  type StoredSpecification,
} from './specification.js'

/** A write that lmdb executes if its condition holds, and then there is this outcome. */
interface Write<T> {
  readonly outcome: T
  /** Passes the write to lmdb, all of it in one turn. @returns whether its condition held, once it is on disk */
  readonly enqueue: () => Promise<boolean>
}

/** What follows from the topic as it was read: an outcome that changes nothing, or a write. */
type Decision<T extends string | boolean> = T | Write<T>

type AddAndSetOutcome = Awaited<ReturnType<TopicStore['addAndSet']>>

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Writes implements Pick<TopicStore, 'set' | 'add' | 'addAndSet' | 'remove'> {
  readonly #environment: Environment
  readonly #snapshots: Snapshots
  readonly #commits: Commits
  readonly #now: Clock
  readonly #slabs = new Slabs()
  readonly #plainTopics = new PlainTopics()

  constructor(environment: Environment, snapshots: Snapshots, commits: Commits, now: Clock) {
    this.#environment = environment
    this.#snapshots = snapshots
    this.#commits = commits
    this.#now = now
  }

  readonly set: TopicStore['set'] = (path, type, valueText) => {
    const item = this.#slabs.item(path, type, valueText)
    const decide = (): Decision<'set' | Absent> => {
      if (this.#isPlain(path, type)) return this.#overwritePlain(path, type, item, 'set')
      const stored = readSpecification(this.#environment.specifications, path)
      if (stored === undefined) return 'no_such_topic'
      if (stored.type !== type) return 'incompatible_type'
      return this.#overwrite(path, stored, item, 'set')
    }
    if (!this.#plainTopics.has(path, type)) return this.#execute(decide)
    return this.#write(this.#overwritePlain(path, type, item, 'set'), decide)
  }

  readonly add: TopicStore['add'] = (creation) => {
    const item = this.#slabs.item(creation.path, creation.type, undefined)
    return this.#execute<'created' | 'present'>(() => {
      if (this.#environment.specifications.getBinaryFast(creation.path) !== undefined) return 'present'
      return this.#create(creation, item, 'created')
    })
  }

  readonly addAndSet: TopicStore['addAndSet'] = (creation, valueText) => {
    const { path, type, properties } = creation
    const item = this.#slabs.item(path, type, valueText)
    const suitsPlain = compatible({}, properties)
    const decide = (): Decision<AddAndSetOutcome> => {
      if (suitsPlain && this.#isPlain(path, type)) return this.#overwritePlain(path, type, item, 'updated')
      const stored = readSpecification(this.#environment.specifications, path)
      if (stored === undefined) return this.#create(creation, item, 'created')
      if (stored.type !== type) return 'incompatible_type'
      if (!compatible(stored.details?.properties ?? {}, properties)) return 'incompatible_properties'
      return this.#overwrite(path, stored, item, 'updated')
    }
    if (!suitsPlain || !this.#plainTopics.has(path, type)) return this.#execute(decide)
    return this.#write(this.#overwritePlain(path, type, item, 'updated'), decide)
  }

  readonly remove: TopicStore['remove'] = (path) => {
    const decide = (): Decision<boolean> => this.#decideRemoval(path)
    const type = topicTypes.find((type) => this.#plainTopics.has(path, type))
    return type === undefined ? this.#execute(decide) : this.#write(this.#plainRemoval(path, type), decide)
  }

  /** Removes a topic that was read as `stored`; if it has changed since, it is read and decided on again. */
  removeRead(path: Path, stored: StoredSpecification): Promise<boolean> {
    return this.#write(this.#removal(path, stored), () => this.#decideRemoval(path))
  }

  #execute<T extends string | boolean>(decide: () => Decision<T>): Promise<T> {
    this.#snapshots.forRequest()
    const decision = decide()
    return typeof decision === 'object' ? this.#write(decision, decide) : Promise.resolve(decision)
  }

  #write<T extends string | boolean>({ outcome, enqueue }: Write<T>, decide: () => Decision<T>): Promise<T> {
    return this.#commits.run(outcome, enqueue, () => this.#decideAgain(decide))
  }

  async #decideAgain<T extends string | boolean>(decide: () => Decision<T>): Promise<T> {
    for (let conflicts = 1; conflicts < conflictsMax; conflicts++) {
      const decision = this.#snapshots.alone(decide)
      if (typeof decision !== 'object') return decision
      const outcome = await this.#commits.run(decision.outcome, decision.enqueue)
      if (outcome !== undefined) return outcome
    }
    throw new StoreError('retry', 'too many concurrent writes to one topic')
  }

  /** Whether there is a topic of this type without properties. One read, of the record that a write would replace. */
  #isPlain(path: Path, type: TopicType): boolean {
    const item = this.#environment.items[type].getBinaryFast(path)
    const isPlain = item !== undefined && getLastVersion() === plainVersion
    if (isPlain) this.#plainTopics.add(path, type)
    else this.#plainTopics.delete(path, type)
    return isPlain
  }

  #overwritePlain<T>(path: Path, type: TopicType, item: ItemBytes, outcome: T): Write<T> {
    const items = this.#environment.items[type]
    return { outcome, enqueue: () => putItem(items, path, item, plainVersion, plainVersion) }
  }

  #overwrite<T extends string>(path: Path, stored: StoredSpecification, item: ItemBytes, outcome: T): Decision<T> {
    const { type, details, version } = stored
    const { specifications, items, updates, nextVersion } = this.#environment
    if (details === undefined) return this.#overwritePlain(path, type, item, outcome)
    const retains = retainsValue(details.properties)
    const policy = removalOf(details.properties)
    const tracks = policy !== undefined && tracksUpdates(policy)
    if (!retains && !tracks) return outcome
    const enqueue = (): Promise<boolean> => {
      const updateVersion = nextVersion()
      return specifications.ifVersion(path, version, () => {
        if (retains) void putItem(items[type], path, item, propertiedVersion)
        if (tracks) void updates.put(path, Buffer.from(JSON.stringify(this.#now())), updateVersion)
      })
    }
    return { outcome, enqueue }
  }

  #create<T>(creation: Creation, item: ItemBytes, outcome: T): Write<T> {
    const isPlain = Object.keys(creation.properties).length === 0
    if (isPlain) this.#plainTopics.add(creation.path, creation.type)
    const enqueue = isPlain
      ? () => this.#putPlain(creation.path, creation.type, item)
      : () => this.#putPropertied(creation, item)
    return { outcome, enqueue }
  }

  #putPlain(path: Path, type: TopicType, item: ItemBytes): Promise<boolean> {
    const { specifications, items, nextVersion } = this.#environment
    const record = encodeSpecification({ type, details: undefined })
    const version = nextVersion()
    return specifications.ifNoExists(path, () => {
      void specifications.put(path, record, version)
      void putItem(items[type], path, item, plainVersion)
    })
  }

  #putPropertied({ path, type, properties, removal: policy }: Creation, item: ItemBytes): Promise<boolean> {
    const { specifications, items, updates, due, nextVersion } = this.#environment
    const created = this.#now()
    const key = policy && dueKey(dueMs(policy, created.wallMs, created.wallMs), nextVersion())
    const details: Details = { properties, created, due: key?.toString('hex') }
    const kept = retainsValue(properties) ? item : this.#slabs.item(path, type, undefined)
    const [version, updateVersion] = [nextVersion(), nextVersion()]
    return specifications.ifNoExists(path, () => {
      void specifications.put(path, encodeSpecification({ type, details }), version)
      void putItem(items[type], path, kept, propertiedVersion)
      if (policy && tracksUpdates(policy)) void updates.put(path, Buffer.from(JSON.stringify(created)), updateVersion)
      if (key !== undefined) void due.put(key, Buffer.from(path))
    })
  }

  #decideRemoval(path: Path): Decision<boolean> {
    const stored = readSpecification(this.#environment.specifications, path)
    return stored === undefined ? false : this.#removal(path, stored)
  }

  /** The removal of a topic without properties, which has no other records. */
  #plainRemoval(path: Path, type: TopicType): Write<boolean> {
    const { specifications, items } = this.#environment
    this.#plainTopics.delete(path, type)
    const enqueue = (): Promise<boolean> =>
      items[type].ifVersion(path, plainVersion, () => {
        void specifications.remove(path)
        void items[type].remove(path)
      })
    return { outcome: true, enqueue }
  }

  #removal(path: Path, { type, details, version }: StoredSpecification): Write<boolean> {
    const { specifications, items, updates, due } = this.#environment
    const enqueue = (): Promise<boolean> =>
      specifications.ifVersion(path, version, () => {
        void specifications.remove(path)
        void items[type].remove(path)
        if (details !== undefined) void updates.remove(path)
        if (details?.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
      })
    return { outcome: true, enqueue }
  }
}
