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
import { compatible } from '../../topics/properties.js'
import { type TopicType, topicTypes } from '../../topics/topic.js'
import { resultOfOne } from '../batch.js'
import type { Clock } from '../clock.js'
import {
  type BatchResult,
  type Creation,
  StoreError,
  type WriteOperation,
  type WriteOutcome,
  type WriteRefusal,
} from '../store.js'
import type { Commits } from './commits.js'
import { smallWrite, type WriteSize } from './disk-room.js'
import { type Environment, plainVersion } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import type { PlainTopics } from './plain-topics.js'
import { type ItemBytes, putItem, type Slabs } from './slab.js'
import { propertiesBytes, readSpecification, type StoredSpecification } from './specification.js'
import { isPlainCreation, plainCreation, propertiedCreation, propertiedUpdate, removal } from './topic-records.js'

type Outcome = WriteOutcome | WriteRefusal

/** A write that lmdb executes if its condition holds, and then there is this outcome. */
interface Write {
  readonly outcome: Outcome
  readonly size: WriteSize
  /** Passes the write to lmdb, all of it in one turn. @returns whether its condition held, once it is on disk */
  readonly enqueue: () => Promise<boolean>
}

/** What follows from the topic as it was read: an outcome that changes nothing, or a write. */
type Decision = Outcome | Write

export class Writes {
  readonly #environment: Environment
  readonly #snapshots: Snapshots
  readonly #commits: Commits
  readonly #now: Clock
  readonly #slabs: Slabs
  readonly #plainTopics: PlainTopics

  constructor(
    environment: Environment,
    snapshots: Snapshots,
    commits: Commits,
    now: Clock,
    slabs: Slabs,
    plainTopics: PlainTopics,
  ) {
    this.#environment = environment
    this.#snapshots = snapshots
    this.#commits = commits
    this.#now = now
    this.#slabs = slabs
    this.#plainTopics = plainTopics
  }

  /** Carries out one operation, which has no constraint. */
  async write(operation: WriteOperation): Promise<BatchResult> {
    return resultOfOne(operation, await this.#outcomeOf(operation))
  }

  #outcomeOf(operation: WriteOperation): Promise<Outcome> {
    switch (operation.kind) {
      case 'set':
        return this.#set(operation.path, operation.type, operation.valueText)
      case 'add':
        return this.#add(operation)
      case 'addAndSet':
        return this.#addAndSet(operation, operation.valueText)
      case 'remove':
        return this.#remove(operation.path)
    }
  }

  #set(path: Path, type: TopicType, valueText: Uint8Array | undefined): Promise<Outcome> {
    const item = this.#slabs.item(path, type, valueText)
    const decide = (): Decision => {
      if (this.#isPlain(path, type)) return this.#overwritePlain(path, type, item, 'set')
      const stored = readSpecification(this.#environment.specifications, path)
      if (stored === undefined) return 'no_such_topic'
      if (stored.type !== type) return 'incompatible_type'
      return this.#overwrite(path, stored, item, 'set')
    }
    if (!this.#plainTopics.has(path, type)) return this.#execute(decide)
    return this.#write(this.#overwritePlain(path, type, item, 'set'), decide)
  }

  #add(creation: Creation): Promise<Outcome> {
    const item = this.#slabs.item(creation.path, creation.type, undefined)
    return this.#execute(() => {
      if (this.#environment.specifications.getBinaryFast(creation.path) !== undefined) return 'present'
      return this.#create(creation, item, 'created')
    })
  }

  #addAndSet(creation: Creation, valueText: Uint8Array | undefined): Promise<Outcome> {
    const { path, type, properties } = creation
    const item = this.#slabs.item(path, type, valueText)
    const suitsPlain = compatible({}, properties)
    const decide = (): Decision => {
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

  #remove(path: Path): Promise<Outcome> {
    const decide = (): Decision => this.#decideRemoval(path)
    const type = topicTypes.find((type) => this.#plainTopics.has(path, type))
    return type === undefined ? this.#execute(decide) : this.#write(this.#plainRemoval(path, type), decide)
  }

  /** Removes a topic that was read as `stored`; if it has changed since, it is read and decided on again. */
  async removeRead(path: Path, stored: StoredSpecification): Promise<boolean> {
    const outcome = await this.#write(this.#removal(path, stored), () => this.#decideRemoval(path))
    return outcome === 'removed'
  }

  #execute(decide: () => Decision): Promise<Outcome> {
    this.#snapshots.forRequest()
    const decision = decide()
    return typeof decision === 'object' ? this.#write(decision, decide) : Promise.resolve(decision)
  }

  #write({ outcome, enqueue, size }: Write, decide: () => Decision): Promise<Outcome> {
    return this.#commits.run(outcome, enqueue, size, () => this.#decideAgain(decide))
  }

  async #decideAgain(decide: () => Decision): Promise<Outcome> {
    for (let conflicts = 1; conflicts < conflictsMax; conflicts++) {
      const decision = this.#snapshots.alone(decide)
      if (typeof decision !== 'object') return decision
      const outcome = await this.#commits.run(decision.outcome, decision.enqueue, decision.size)
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

  #overwritePlain(path: Path, type: TopicType, item: ItemBytes, outcome: Outcome): Write {
    const items = this.#environment.items[type]
    return { outcome, size: sizeOf(item), enqueue: () => putItem(items, path, item, plainVersion, plainVersion) }
  }

  #overwrite(path: Path, stored: StoredSpecification, item: ItemBytes, outcome: Outcome): Decision {
    const { type, details, version } = stored
    if (details === undefined) return this.#overwritePlain(path, type, item, outcome)
    const put = propertiedUpdate(this.#environment, path, type, details, item, this.#now)
    if (put === undefined) return outcome
    const enqueue = (): Promise<boolean> => this.#environment.specifications.ifVersion(path, version, put)
    return { outcome, size: sizeOf(item), enqueue }
  }

  #create(creation: Creation, item: ItemBytes, outcome: Outcome): Write {
    const { path, type } = creation
    const isPlain = isPlainCreation(creation)
    if (isPlain) this.#plainTopics.add(path, type)
    const enqueue = (): Promise<boolean> => {
      const put = isPlain
        ? plainCreation(this.#environment, path, type, item)
        : propertiedCreation(this.#environment, creation, item, this.#slabs, this.#now())
      return this.#environment.specifications.ifNoExists(path, put)
    }
    return { outcome, size: sizeOf(item, propertiesBytes(creation.properties)), enqueue }
  }

  #decideRemoval(path: Path): Decision {
    const stored = readSpecification(this.#environment.specifications, path)
    return stored === undefined ? 'nothing_removed' : this.#removal(path, stored)
  }

  /** The removal of a topic without properties, which has no other records. */
  #plainRemoval(path: Path, type: TopicType): Write {
    this.#plainTopics.delete(path, type)
    const remove = removal(this.#environment, path, { type, details: undefined })
    const enqueue = (): Promise<boolean> => this.#environment.items[type].ifVersion(path, plainVersion, remove)
    return { outcome: 'removed', size: smallWrite, enqueue }
  }

  #removal(path: Path, stored: StoredSpecification): Write {
    const remove = removal(this.#environment, path, stored)
    const enqueue = (): Promise<boolean> => this.#environment.specifications.ifVersion(path, stored.version, remove)
    return { outcome: 'removed', size: smallWrite, enqueue }
  }
}

function sizeOf({ start, end }: ItemBytes, specificationBytes = 0): WriteSize {
  return { operations: 1, bytes: end - start + specificationBytes, grows: true }
}
