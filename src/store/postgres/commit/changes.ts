/** The changes of one commit, gathered for the engine's function (function.ts), and what it has to check beside them. */
import { randomBytes } from 'node:crypto'
import type { Moment } from '../../../base/clock.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type {
  Changes,
  DuePlace,
  ItemBytes,
  LoggedRecord,
  LogPosition,
  NeededTopic,
  NewTopic,
  RecordTable,
  StoredTopic,
} from '../../engine.js'
import { loggedBytesMax, writeLoggedKey } from '../../logged-keys.js'
import type { RecordPut } from '../records.js'
import { bytesArray, plainArray, textArray } from '../sql/arrays.js'
import { columnOfProperties, typeNumbers } from '../sql/rows.js'
import type { Parameter } from '../sql/statement.js'
import type { CommitRow } from './function.js'
import { type Known, KnownTopic } from './heads.js'

/** A change of a topic that is there. */
interface Changed {
  readonly path: Path
  readonly topic: KnownTopic
}

export class CommitChanges implements Changes {
  readonly records: RecordPut[] = []
  readonly #updates: (Changed & { readonly item: ItemBytes; readonly place: number })[] = []
  readonly #removals: Changed[] = []
  readonly #creations: { readonly topic: NewTopic; readonly place: number }[] = []
  readonly #rescheduled: (Changed & { readonly dueMs: number | undefined })[] = []
  /** The topics that change, in the order of the log. */
  readonly #logged: Path[] = []
  /** That of the topics that are created. */
  readonly #generation = newGeneration()

  constructor(readonly moment: Moment) {}

  create(topic: NewTopic, former: StoredTopic | undefined): void {
    if (former !== undefined) this.#removals.push({ path: topic.path, topic: former as KnownTopic })
    this.#creations.push({ topic, place: this.#log(topic.path) })
  }

  update(path: Path, topic: StoredTopic, item: ItemBytes): void {
    this.#updates.push({ path, topic: topic as KnownTopic, item, place: this.#log(path) })
  }

  remove(path: Path, topic: StoredTopic): void {
    this.#removals.push({ path, topic: topic as KnownTopic })
    this.#log(path)
  }

  reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): void {
    this.#rescheduled.push({ path, topic: topic as KnownTopic, dueMs })
  }

  /** The due time is a column of the topic itself. */
  dropDue(_place: DuePlace): void {}

  put(table: RecordTable, name: string, value: Buffer | undefined): void {
    this.records.push({ table, name, value })
  }

  /** Whether the engine's function has anything to change. */
  get isEmpty(): boolean {
    return this.#logged.length === 0 && this.#rescheduled.length === 0
  }

  /** The parameters of `callCommit`. @param needed what was decided on, as it was known */
  parameters(needed: readonly NeededTopic[], known: Known): Parameter[] {
    const versioned = new Set(needed.flatMap(({ path, reads }) => (reads === 'constants' ? [] : [path])))
    const versionOf = ({ path, topic }: Changed): number | undefined =>
      versioned.has(path) ? topic.version : undefined
    const unchanged = this.#unchanged(known)
    const creations = this.#creations.map(({ topic }) => topic)
    return [
      ...columnsOf(this.#updates, versionOf),
      textArray(this.#updates.map(({ item }) => item.bytes.subarray(item.start, item.end))),
      plainArray(this.#updates.map(({ place }) => place)),
      ...columnsOf(this.#removals, versionOf),
      bytesArray(creations.map(({ path }) => encodeKey(path))),
      plainArray(creations.map(({ type }) => typeNumbers[type])),
      textArray(creations.map(({ properties }) => columnOfProperties(properties))),
      textArray(creations.map(({ item }) => item.bytes.subarray(item.start, item.end))),
      plainArray(creations.map(({ dueMs }) => dueMs !== undefined)),
      plainArray(this.#creations.map(({ place }) => place)),
      this.#generation,
      bytesArray(unchanged.map(({ path }) => encodeKey(path))),
      plainArray(unchanged.map(({ topic }) => topic?.generation)),
      plainArray(unchanged.map(({ path, topic }) => (versioned.has(path) ? topic?.version : undefined))),
      bytesArray(this.#rescheduled.map(({ path }) => encodeKey(path))),
      plainArray(this.#rescheduled.map(({ topic }) => topic.generation)),
      plainArray(this.#rescheduled.map(({ dueMs }) => dueMs && Math.floor(dueMs))),
      this.#logged.length,
      this.#loggedKeys(),
    ]
  }

  /** What is known of the topics after the commit. */
  *after(): Generator<readonly [Path, KnownTopic | undefined]> {
    for (const { path } of this.#removals) yield [path, undefined]
    for (const { topic } of this.#creations) yield [topic.path, this.#created(topic)]
  }

  /** The record of the commit in the log; undefined if it has changed no topic. */
  record({ before_version, before_total, first_version }: CommitRow): LoggedRecord | undefined {
    const count = this.#logged.length
    if (count === 0) return undefined
    const before: LogPosition = { version: Number(before_version), total: Number(before_total) }
    const version = Number(first_version) + count - 1
    return { before, version, total: before.total + count, keys: this.#loggedKeys() }
  }

  /** @returns the place of the change among those of the commit */
  #log(path: Path): number {
    return this.#logged.push(path) - 1
  }

  #loggedKeys(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#logged.reduce((sum, path) => sum + loggedBytesMax(path), 0))
    let end = 0
    for (const path of this.#logged) end = writeLoggedKey(path, bytes, end)
    return bytes.subarray(0, end)
  }

  /** The topics that were decided on and do not change. */
  #unchanged(known: Known): { readonly path: Path; readonly topic: KnownTopic | undefined }[] {
    const changed = new Set(this.#logged)
    return [...known].flatMap(([path, topic]) => (changed.has(path) ? [] : [{ path, topic }]))
  }

  #created({ path, type, properties }: NewTopic): KnownTopic {
    const column = columnOfProperties(properties)?.toString() ?? null
    const times = { created: '0', updated: '0', version: '0', due: null }
    return new KnownTopic(path, {
      ...times,
      type: String(typeNumbers[type]),
      properties: column,
      generation: this.#generation,
      item: null,
    })
  }
}

/** The keys, generations and versions of topics that are there. */
function columnsOf(
  changed: readonly Changed[],
  versionOf: (changed: Changed) => number | undefined,
): readonly [Parameter, Parameter, Parameter] {
  return [
    bytesArray(changed.map(({ path }) => encodeKey(path))),
    plainArray(changed.map(({ topic }) => topic.generation)),
    plainArray(changed.map(versionOf)),
  ]
}

/** A generation: random, so that no two topics that ever existed at one path share it. */
function newGeneration(): string {
  return String(BigInt.asIntN(63, randomBytes(8).readBigInt64BE()))
}
