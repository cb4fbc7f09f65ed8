/**
 * Batches of operations, and single ones with a constraint: everything that needs the content of several records, or a
 * value, to be decided in one step with the write. So JavaScript runs while the write lock is held: a callback of
 * lmdb's transaction reads, decides (store/batch.ts) and then writes. It writes only what is decided, so there is
 * nothing to take back; an error while it writes ends the process before the commit.
 *
 * Batches that wait for the lock share one callback, up to a bound, since each callback costs two switches between
 * threads.
 */
import { strict as assert } from 'node:assert'
import { writeSync } from 'node:fs'
import { getLastVersion } from 'lmdb'
import { constrainedBytesKeptMax, operationsInOneCallbackMax } from '../../limits.js'
import { ValueText } from '../../topics/constraint.js'
import type { Path } from '../../topics/path.js'
import { type Properties, type TopicType, valueOfItem } from '../../topics/topic.js'
import { BatchDecisions, type Change, type StoredTopic } from '../batch.js'
import type { Clock } from '../clock.js'
import type { BatchResult, Creation, WriteAction, WriteOperation } from '../store.js'
import type { Commits } from './commits.js'
import type { WriteSize } from './disk-room.js'
import { type Environment, plainVersion, type Tree } from './environment.js'
import type { PlainTopics } from './plain-topics.js'
import { bytesOf, type ItemBytes, putItem, type Slabs } from './slab.js'
import { type Details, propertiesBytes, readSpecification } from './specification.js'
import { isPlainCreation, plainCreation, propertiedCreation, propertiedUpdate, removal } from './topic-records.js'

/** An operation with its item, encoded before the transaction begins; a removal has none. */
type Prepared = WriteAction & { readonly item: ItemBytes | undefined }

interface Batch {
  readonly operations: readonly Prepared[]
  result: BatchResult | undefined
}

/** Batches that one callback decides. */
interface Group {
  readonly batches: Batch[]
  operations: number
  readonly committed: Promise<boolean>
}

const noProperties: Properties = {}

function sizeOf({ operations }: Batch): WriteSize {
  let bytes = 0
  for (const { item, properties = noProperties } of operations) {
    if (item !== undefined) bytes += item.end - item.start + propertiesBytes(properties)
  }
  return { operations: operations.length, bytes, grows: bytes > 0 }
}

/** Values that the constraints of a group are compared with: read once each, as long as they are small together. */
class ValueTexts {
  readonly #texts = new Map<Path, ValueText>()
  #bytes = 0

  of(path: Path, read: () => Uint8Array | undefined): ValueText | undefined {
    const known = this.#texts.get(path)
    const text = known === undefined ? read() : undefined
    if (text === undefined) return known
    const value = new ValueText(text)
    this.#bytes += value.bytes
    if (this.#bytes <= constrainedBytesKeptMax) this.#texts.set(path, value)
    return value
  }
}

/** A topic as a batch reads it, and its value once a constraint asks for it. */
class Stored implements StoredTopic {
  readonly type: TopicType
  /** Undefined for a plain one. */
  readonly details: Details | undefined
  readonly #path: Path
  readonly #items: Tree
  readonly #texts: ValueTexts

  constructor(path: Path, type: TopicType, details: Details | undefined, items: Tree, texts: ValueTexts) {
    this.type = type
    this.details = details
    this.#path = path
    this.#items = items
    this.#texts = texts
  }

  get properties(): Properties {
    return this.details?.properties ?? noProperties
  }

  hasValue(): boolean {
    return this.#readValue() !== undefined
  }

  hasText(text: Uint8Array): boolean {
    return this.#texts.of(this.#path, () => this.#readValue())?.is(text) === true
  }

  #readValue(): Uint8Array | undefined {
    const item = this.#items.getBinary(this.#path)
    return item && valueOfItem(item, this.#path, this.type)
  }
}

export class Batches {
  readonly #environment: Environment
  readonly #commits: Commits
  readonly #now: Clock
  readonly #slabs: Slabs
  readonly #plainTopics: PlainTopics
  /** The group whose callback has not been called yet. */
  #group: Group | undefined

  constructor(environment: Environment, commits: Commits, now: Clock, slabs: Slabs, plainTopics: PlainTopics) {
    this.#environment = environment
    this.#commits = commits
    this.#now = now
    this.#slabs = slabs
    this.#plainTopics = plainTopics
  }

  /** Carries out all operations or, if one is refused, none. */
  write(operations: readonly WriteOperation[]): Promise<BatchResult> {
    const batch: Batch = { operations: operations.map((operation) => this.#prepare(operation)), result: undefined }
    return this.#commits
      .run(true, () => this.#enqueue(batch), sizeOf(batch))
      .then(() => {
        assert(batch.result !== undefined, 'a transaction was committed before its batches were decided')
        return batch.result
      })
  }

  /** Copies everything that is a view into the request. */
  #prepare(operation: WriteOperation): Prepared {
    const { kind, path, type, properties, removal, valueText, constraint } = operation
    const item = type && this.#slabs.item(path, type, valueText)
    const copied = constraint?.kind === 'value' ? { ...constraint, text: Buffer.from(constraint.text) } : constraint
    return { kind, path, type, properties, removal, constraint: copied, item } as Prepared
  }

  #enqueue(batch: Batch): Promise<boolean> {
    let group = this.#group
    if (group === undefined || group.operations >= operationsInOneCallbackMax) {
      const batches: Batch[] = []
      const committed = this.#environment.root.transaction(() => {
        if (this.#group?.batches === batches) this.#group = undefined
        this.#execute(batches)
        return true
      })
      this.#group = group = { batches, operations: 0, committed }
    }
    group.batches.push(batch)
    group.operations += batch.operations.length
    return group.committed
  }

  /** Within the transaction. */
  #execute(batches: readonly Batch[]): void {
    const texts = new ValueTexts()
    const decisions = new BatchDecisions<Stored, Prepared>({
      stored: (path, type) => this.#read(path, type, texts),
      valueText: ({ path, type, item }) => type && item && valueOfItem(bytesOf(item), path, type),
    })
    for (const batch of batches) batch.result = decisions.decide(batch.operations)
    try {
      for (const change of decisions.changes()) this.#put(change)
    } catch (error) {
      // lmdb would commit what has been written so far, and there is no way to refuse but to end before it does.
      writeSync(process.stderr.fd, `a batch could not be written: ${(error as Error).stack}\n`)
      process.abort()
    }
  }

  #read(path: Path, expected: TopicType | undefined, texts: ValueTexts): Stored | undefined {
    const { specifications, items } = this.#environment
    if (expected !== undefined && items[expected].getBinaryFast(path) !== undefined) {
      if (getLastVersion() === plainVersion) return new Stored(path, expected, undefined, items[expected], texts)
    }
    const stored = readSpecification(specifications, path)
    return stored && new Stored(path, stored.type, stored.details, items[stored.type], texts)
  }

  #put({ path, stored, isRemoved, creator, setter }: Change<Stored, Prepared>): void {
    if (stored !== undefined && isRemoved) {
      this.#plainTopics.delete(path, stored.type)
      removal(this.#environment, path, stored)()
    }
    if (creator !== undefined) return this.#create(creator, (setter ?? creator).item)
    if (stored === undefined || setter?.item === undefined) return
    const { type, details } = stored
    if (details === undefined) void putItem(this.#environment.items[type], path, setter.item, plainVersion)
    else propertiedUpdate(this.#environment, path, type, details, setter.item, this.#now)?.()
  }

  #create(creation: Creation, item: ItemBytes | undefined): void {
    assert(item !== undefined, 'a creation has an item')
    const { path, type } = creation
    if (isPlainCreation(creation)) {
      this.#plainTopics.add(path, type)
      plainCreation(this.#environment, path, type, item)()
    } else propertiedCreation(this.#environment, creation, item, this.#slabs, this.#now())()
  }
}
