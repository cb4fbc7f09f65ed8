/**
 * One lmdb transaction: the records that each change to a topic writes. Each change is written immediately. The log gets each topic
 * that changes, with its version.
 */
import type { Clock, Moment } from '../../../base/clock.js'
import type { Path } from '../../../topics/path.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Changes, DuePlace, ItemBytes, LoggedRecord, NewTopic, RecordTable, StoredTopic } from '../../engine.js'
import type { ChangeVersion } from '../../topics.js'
import { type Environment, recordVersion, type Tree } from '../environment/environment.js'
import { type Details, dueKey, encodeSpecification } from '../view/specification.js'
import type { LmdbTopic } from '../view/view.js'
import type { ChangeLog } from './change-log.js'

/** A form of value that lmdb also accepts: the bytes of a buffer from `start` to `end`. */
interface Slab extends Buffer {
  start: number
  end: number
}

/** Call its methods only within a transaction's callback. */
export class Transaction implements Changes {
  moment: Moment
  /** The buffer of the item that was put last, reused because lmdb looks up the address of each buffer with a native call. */
  #slab: Slab | undefined

  constructor(
    private readonly environment: Environment,
    private readonly log: ChangeLog,
    private readonly now: Clock,
  ) {
    this.moment = now()
  }

  /** Call first in each transaction. */
  begin(): void {
    this.moment = this.now()
    this.#slab = undefined
  }

  /** Call last in each transaction. @returns its record in the log, if any topic has changed */
  end(): LoggedRecord | undefined {
    return this.log.put()
  }

  create({ path, type, properties, item, dueMs, tracksUpdates }: NewTopic, former: StoredTopic | undefined): void {
    if (former !== undefined) this.#removeRecords(path, former)
    const isPlain = Object.keys(properties).length === 0
    const key = dueMs === undefined ? undefined : dueKey(dueMs, this.environment.nextDueNumber())
    const details = isPlain ? undefined : { properties, created: this.moment, due: key?.toString('hex') }
    this.#putSpecification(path, type, details)
    this.#putItem(path, type, item)
    if (tracksUpdates) this.#putUpdated(path)
    if (key !== undefined) void this.environment.due.put(key, Buffer.from(path))
  }

  update(path: Path, { type }: StoredTopic, item: ItemBytes, tracksUpdates: boolean): void {
    this.#putItem(path, type, item)
    if (tracksUpdates) this.#putUpdated(path)
  }

  remove(path: Path, topic: StoredTopic): void {
    this.#removeRecords(path, topic)
    this.log.add(path, this.moment.wallMs)
  }

  pass(path: Path): void {
    this.log.add(path, this.moment.wallMs)
  }

  tellVersion(change: ChangeVersion): void {
    change.version = this.log.last
  }

  reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): void {
    const { due, nextDueNumber } = this.environment
    const details = (topic as LmdbTopic).details()
    if (details === undefined) return
    const next = dueMs === undefined ? undefined : dueKey(dueMs, nextDueNumber())
    this.#putSpecification(path, topic.type, { ...details, due: next?.toString('hex') })
    if (details.due !== undefined) void due.remove(Buffer.from(details.due, 'hex'))
    if (next !== undefined) void due.put(next, Buffer.from(path))
  }

  dropDue({ id }: DuePlace): void {
    void this.environment.due.remove(Buffer.from(id, 'hex'))
  }

  put(table: RecordTable, name: string, value: Buffer | undefined): void {
    if (value === undefined) this.environment[table].removeSync(name)
    else this.environment[table].putSync(name, value)
  }

  #putSpecification(path: Path, type: TopicType, details: Details | undefined): void {
    void this.environment.specifications.put(path, encodeSpecification({ type, details }), recordVersion)
  }

  #putItem(path: Path, type: TopicType, { bytes, start, end }: ItemBytes): void {
    const tree: Tree = this.environment.items[type]
    const version = this.log.add(path, this.moment.wallMs)
    // Spans the item's whole ArrayBuffer, so that lmdb gets the item without a copy.
    if (this.#slab?.buffer !== bytes.buffer)
      this.#slab = Object.assign(Buffer.from(bytes.buffer as ArrayBuffer), { start: 0, end: 0 })
    const slab = this.#slab as Slab
    slab.start = bytes.byteOffset + start
    slab.end = bytes.byteOffset + end
    void tree.put(path, slab, version)
  }

  #putUpdated(path: Path): void {
    void this.environment.updates.put(path, Buffer.from(JSON.stringify(this.moment)), recordVersion)
  }

  #removeRecords(path: Path, topic: StoredTopic): void {
    const { specifications, items, updates, due } = this.environment
    const { isPlain, dueId } = topic as LmdbTopic
    void specifications.remove(path)
    void items[topic.type].remove(path)
    if (isPlain) return
    void updates.remove(path)
    if (dueId !== undefined) void due.remove(Buffer.from(dueId, 'hex'))
  }
}
