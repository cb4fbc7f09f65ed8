/**
 * What the requests of one commit change in topics. A transaction's callback reads topics, has store/shared/batch.ts decide
 * each request in its turn, and writes only what is decided, so there is nothing to take back.
 */
import { strict as assert } from 'node:assert'
import type { Clock, Moment } from '../../../base/clock.js'
import { ValueText } from '../../../topics/constraint.js'
import { numberTextMax } from '../../../topics/decimal.js'
import type { Path } from '../../../topics/path.js'
import { removalOf } from '../../../topics/properties.js'
import type { RemovalPolicy } from '../../../topics/removal/policy.js'
import { type Properties, type TopicType, valueOfItem } from '../../../topics/topic.js'
import { StoreError } from '../../errors.js'
import { loggedBytesMax } from '../../logged-keys.js'
import { BatchDecisions, type Change, type StoredTopic } from '../../shared/batch.js'
import type { BatchResult, Creation, WriteAction, WriteOperation } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { versionOfLastRead } from '../environment/versions.js'
import {
  type Details,
  propertiesBytes,
  readForRemoval,
  readSpecification,
  type Specification,
} from '../view/specification.js'
import type { ChangeLog } from './change-log.js'
import type { WriteSize } from './disk-room.js'
import { bytesOf, type ItemBytes, putItem, type Slabs } from './slab.js'
import { isPlainCreation, plainCreation, propertiedCreation, propertiedUpdate, removal } from './topic-records.js'

/** Values, in bytes, that one transaction keeps for further constraints on the same topics; others are read again. */
const constrainedBytesKeptMax = 64 * 1024 * 1024

/**
 * Values, in bytes, that the constraints of one request may have read: to read and to strip one of a megabyte takes 2 to 5 ms,
 * and a request is decided at once. A constraint that holds is itself as long as the value, apart from white space, so few
 * requests need so many: 4,000 that do not hold, on values of 128 KiB.
 */
export const comparedBytesMax = 512 * 1024 * 1024

/** An operation with its item, encoded before the transaction begins; a removal has none. */
export type Prepared = WriteAction & { readonly item: ItemBytes | undefined }

const noProperties: Properties = {}

/** Copies everything of an operation that is a view into the request. */
export function prepare(operation: WriteOperation, slabs: Slabs): Prepared {
  const { kind, path, type, properties, removal, valueText, constraint } = operation
  const item = type && slabs.item(path, type, valueText)
  const copied = constraint?.kind === 'value' ? { ...constraint, text: Buffer.from(constraint.text) } : constraint
  return { kind, path, type, properties, removal, constraint: copied, item } as Prepared
}

/** What operations may add to the file. */
export function sizeOf(operations: readonly Prepared[]): WriteSize {
  let bytes = 0
  let grows = false
  for (const { kind, path, item, properties = noProperties } of operations) {
    bytes += loggedBytesMax(path)
    if (item === undefined) continue
    bytes += item.end - item.start + propertiesBytes(properties)
    if (kind === 'increment') bytes += numberTextMax
    grows = true
  }
  return { operations: operations.length, bytes, grows }
}

/** Values that constraints are compared with: read once each, as long as they are small together. */
class ValueTexts {
  readonly #texts = new Map<Path, ValueText>()
  #bytes = 0
  /** Those of one request. */
  #comparedBytes = 0

  beginRequest(): void {
    this.#comparedBytes = 0
  }

  of(path: Path, read: () => Uint8Array | undefined): ValueText | undefined {
    const known = this.#texts.get(path)
    const text = known === undefined ? read() : undefined
    if (text === undefined) return known
    this.#comparedBytes += text.length
    if (this.#comparedBytes > comparedBytesMax) throw new StoreError('retry', 'a request compares too many long values')
    const value = new ValueText(text)
    this.#bytes += value.bytes
    if (this.#bytes <= constrainedBytesKeptMax) this.#texts.set(path, value)
    return value
  }
}

/** A topic as a request reads it, and its value once a constraint asks for it. */
class Stored implements StoredTopic {
  readonly type: TopicType
  /** Undefined for a plain one. */
  readonly details: Details | undefined

  constructor(
    private readonly path: Path,
    { type, details }: Specification,
    /** Parsed while deciding, since no error may occur once writing has begun. */
    readonly policy: RemovalPolicy | undefined,
    private readonly environment: Environment,
    private readonly texts: ValueTexts,
  ) {
    this.type = type
    this.details = details
  }

  get properties(): Properties {
    return this.details?.properties ?? noProperties
  }

  hasValue(): boolean {
    return this.#viewValue() !== undefined
  }

  hasText(text: Uint8Array): boolean {
    return this.texts.of(this.path, () => this.#readValue())?.is(text) === true
  }

  /** A view, valid until the next read. */
  valueText(): Uint8Array | undefined {
    return this.#viewValue()
  }

  hasVersion(version: number): boolean {
    const { items, conversionVersion } = this.environment
    const item = items[this.type].getBinaryFast(this.path)
    return item !== undefined && versionOfLastRead(conversionVersion) === version
  }

  #readValue(): Uint8Array | undefined {
    const item = this.environment.items[this.type].getBinary(this.path)
    return item && valueOfItem(item, this.path, this.type)
  }

  /** As `readValue`, without a copy of its own. */
  #viewValue(): Uint8Array | undefined {
    const item = this.environment.items[this.type].getBinaryFast(this.path)
    return item && valueOfItem(item, this.path, this.type)
  }
}

/** The changes of one transaction: to be made within its callback, and used in it alone. */
export class TopicChanges {
  /** Undefined while nothing is decided that has not been written. */
  #decisions: BatchDecisions<Stored, Prepared> | undefined
  #texts = new ValueTexts()
  #failure: Error | undefined

  constructor(
    private readonly environment: Environment,
    private readonly now: Clock,
    private readonly slabs: Slabs,
    private readonly log: ChangeLog,
  ) {}

  /**
   * Decides the operations of one request, by what is stored and what was decided before.
   *
   * @throws StoreError of the kind `retry`, having decided nothing, when their constraints need too much of what is stored
   */
  decide(operations: readonly Prepared[], isAtomic: boolean): BatchResult {
    this.#decisions ??= this.#begin()
    this.#texts.beginRequest()
    return this.#decisions.decide(operations, isAtomic)
  }

  /**
   * Writes everything that was decided so far. Whoever reads or writes records of topics in the transaction by other
   * means calls this first.
   */
  put(): void {
    const decisions = this.#decisions
    this.#decisions = undefined
    if (decisions === undefined) return
    const moment = this.now()
    this.write(() => {
      for (const change of decisions.changes()) this.#put(change, moment, this.log.add(change.path, moment.wallMs))
    })
  }

  /** Removes a topic that was read as `stored`, without a request to do so; within `write`. */
  remove(path: Path, stored: Specification): void {
    removal(this.environment, path, stored)
    this.log.add(path, this.now().wallMs)
  }

  /** Runs what writes records; nothing may write outside of it. An error in it undoes the whole transaction. */
  write<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.#failure = error as Error
      throw error
    }
  }

  /** Why the transaction must not be committed: something was written in part. */
  get failure(): Error | undefined {
    return this.#failure
  }

  #begin(): BatchDecisions<Stored, Prepared> {
    this.#texts = new ValueTexts()
    return new BatchDecisions<Stored, Prepared>({
      stored: (path, kind) => this.#read(path, kind),
      valueText: ({ path, type, item }) => type && item && valueOfItem(bytesOf(item), path, type),
      setterOf: (increment, valueText) => {
        const { path, type = 'json' } = increment
        return { ...increment, item: this.slabs.item(path, type, Buffer.from(valueText)) }
      },
    })
  }

  #read(path: Path, kind: WriteAction['kind']): Stored | undefined {
    const { specifications } = this.environment
    const stored = kind === 'remove' ? readForRemoval(specifications, path) : readSpecification(specifications, path)
    if (stored === undefined) return undefined
    // A removal needs no policy, so that a topic with a damaged one can be removed.
    const policy = stored.details && kind !== 'remove' ? removalOf(stored.details.properties) : undefined
    return new Stored(path, stored, policy, this.environment, this.#texts)
  }

  #put({ path, stored, isRemoved, creator, setter }: Change<Stored, Prepared>, moment: Moment, version: number): void {
    if (stored !== undefined && isRemoved) removal(this.environment, path, stored)
    if (creator !== undefined) return this.#create(creator, (setter ?? creator).item, moment, version)
    if (stored === undefined || setter?.item === undefined) return
    const { type, details, policy } = stored
    if (details === undefined) putItem(this.environment.items[type], path, setter.item, version)
    else {
      const topic = { type, details, policy }
      propertiedUpdate(this.environment, path, topic, setter.item, this.slabs, moment, version)
    }
  }

  #create(creation: Creation, item: ItemBytes | undefined, created: Moment, version: number): void {
    assert(item !== undefined, 'a creation has an item')
    const { path, type } = creation
    if (isPlainCreation(creation)) plainCreation(this.environment, path, type, item, version)
    else propertiedCreation(this.environment, creation, item, this.slabs, created, version)
  }
}
