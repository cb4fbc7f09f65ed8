/** The changes of one commit, collected for the engine's function (function.ts), with the premises that it must check. */
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
import { loggedKeys } from '../../logged-keys.js'
import type { ChangeVersion } from '../../topics.js'
import type { RecordPut } from '../records.js'
import { bytesArray, columnOfProperties, plainArray, textArray, typeNumbers } from '../sql/columns.js'
import type { Parameter } from '../sql/statement.js'
import { PostgresTopic } from '../view/topics.js'
import type { CommitRow } from './function.js'
import type { Known } from './heads.js'

interface Found {
  readonly path: Path
  readonly topic: PostgresTopic | undefined
}

interface Changed extends Found {
  readonly topic: PostgresTopic
}

export class CommitChanges implements Changes {
  readonly records: RecordPut[] = []
  readonly #updates: (Changed & { readonly item: ItemBytes; readonly place: number })[] = []
  readonly #removals: Changed[] = []
  readonly #creations: { readonly topic: NewTopic; readonly place: number }[] = []
  readonly #rescheduled: (Changed & { readonly dueMs: number | undefined })[] = []
  /** The topics that change, in log order. */
  readonly #logged: Path[] = []
  readonly #told: { readonly change: ChangeVersion; readonly place: number }[] = []
  /** The generation of created topics: random, so that no two topics that ever existed at one path share it. */
  readonly #generation = String(BigInt.asIntN(63, randomBytes(8).readBigInt64BE()))

  constructor(readonly moment: Moment) {}

  create(topic: NewTopic, former: StoredTopic | undefined): void {
    if (former !== undefined) this.#removals.push({ path: topic.path, topic: former as PostgresTopic })
    this.#creations.push({ topic, place: this.#log(topic.path) })
  }

  update(path: Path, topic: StoredTopic, item: ItemBytes): void {
    this.#updates.push({ path, topic: topic as PostgresTopic, item, place: this.#log(path) })
  }

  remove(path: Path, topic: StoredTopic): void {
    this.#removals.push({ path, topic: topic as PostgresTopic })
    this.#log(path)
  }

  pass(path: Path): void {
    this.#log(path)
  }

  tellVersion(change: ChangeVersion): void {
    this.#told.push({ change, place: this.#logged.length - 1 })
  }

  /** Call after the engine has committed. */
  tellVersions({ first_version }: CommitRow): void {
    for (const { change, place } of this.#told) change.version = Number(first_version) + place
  }

  reschedule(path: Path, topic: StoredTopic, dueMs: number | undefined): void {
    this.#rescheduled.push({ path, topic: topic as PostgresTopic, dueMs })
  }

  /** The due time is a column of the topic itself. */
  dropDue(_place: DuePlace): void {}

  put(table: RecordTable, name: string, value: Buffer | undefined): void {
    this.records.push({ table, name, value })
  }

  get isEmpty(): boolean {
    return this.#logged.length === 0 && this.#rescheduled.length === 0
  }

  /** The parameters of `callCommit`. @param needed the topics that the decisions depend on @param known their known state */
  parameters(needed: readonly NeededTopic[], known: Known): Parameter[] {
    const versioned = new Set(needed.flatMap(({ path, reads }) => (reads === 'constants' ? [] : [path])))
    const versionOf = ({ path, topic }: Found): number | undefined => (versioned.has(path) ? topic?.version : undefined)
    const changed = new Set([...this.#updates, ...this.#removals].map(({ path }) => path))
    for (const { topic } of this.#creations) changed.add(topic.path)
    const unchanged = [...known].flatMap(([path, topic]) => (changed.has(path) ? [] : [{ path, topic }]))
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
      ...columnsOf(unchanged, versionOf),
      bytesArray(this.#rescheduled.map(({ path }) => encodeKey(path))),
      plainArray(this.#rescheduled.map(({ topic }) => topic.generation)),
      plainArray(this.#rescheduled.map(({ dueMs }) => dueMs && Math.floor(dueMs))),
      this.#logged.length,
      loggedKeys(this.#logged),
    ]
  }

  /** The known state, after the commit, of the topics that it removes or creates. */
  *after(): Generator<readonly [Path, PostgresTopic | undefined]> {
    for (const { path } of this.#removals) yield [path, undefined]
    for (const { topic } of this.#creations) yield [topic.path, this.#created(topic)]
  }

  /** The record of the commit; undefined if it changed no topic. */
  record({ before_version, before_total, first_version }: CommitRow): LoggedRecord | undefined {
    const count = this.#logged.length
    if (count === 0) return undefined
    const before: LogPosition = { version: Number(before_version), total: Number(before_total) }
    const version = Number(first_version) + count - 1
    return { before, version, total: before.total + count, keys: loggedKeys(this.#logged) }
  }

  /** @returns the place of the change within the commit */
  #log(path: Path): number {
    return this.#logged.push(path) - 1
  }

  #created({ path, type, properties }: NewTopic): PostgresTopic {
    const column = columnOfProperties(properties)?.toString() ?? null
    return PostgresTopic.bare(path, type, column, this.#generation)
  }
}

/** The keys, generations and versions of topics. */
function columnsOf(
  found: readonly Found[],
  versionOf: (found: Found) => number | undefined,
): readonly [Parameter, Parameter, Parameter] {
  return [
    bytesArray(found.map(({ path }) => encodeKey(path))),
    plainArray(found.map(({ topic }) => topic?.generation)),
    plainArray(found.map(versionOf)),
  ]
}
