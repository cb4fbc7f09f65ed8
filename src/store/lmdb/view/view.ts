/** Reads lmdb's current snapshot, or one that stays open. read-freshness.ts decides when to renew the current one. */
import { getLastVersion, type Transaction } from 'lmdb'
import type { Moment } from '../../../base/clock.js'
import type { Slice } from '../../../base/time-slices.js'
import { encodeKey } from '../../../topics/key.js'
import { type Path, parsePath } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type {
  Due,
  DuePlace,
  Head,
  LogPosition,
  LogRecord,
  RecordTable,
  Scan,
  StoredTopic,
  View,
  Wanted,
} from '../../engine.js'
import { readOf } from '../../errors.js'
import type { Absent } from '../../topics.js'
import { logBound, logPositionOf } from '../environment/change-record.js'
import type { Environment, Tree } from '../environment/environment.js'
import { createItemView } from './item-ranges.js'
import { type Details, detailsText, dueKey, dueKeyBytes, dueMsOfKey, parseDetails, typeOf } from './specification.js'

/** Its reads return synchronously. Items are views, valid until the next read. */
export class LmdbView implements View {
  readonly #view = createItemView()
  readonly #options: { readonly transaction: Transaction } | undefined

  /** @param transaction a snapshot that stays open; without it, lmdb's current one is read */
  constructor(
    private readonly environment: Environment,
    readonly items: View['items'],
    private readonly transaction?: Transaction,
  ) {
    this.#options = transaction && { transaction }
  }

  item(type: TopicType, path: Path): Uint8Array | Absent {
    const item = this.#read(this.environment.items[type], path)
    if (item !== undefined) return this.#view(item, item.length)
    const record = this.#read(this.environment.specifications, path)
    return record === undefined || typeOf(record) === type ? 'no_such_topic' : 'incompatible_type'
  }

  readonly topics: View['topics'] = (paths, type, wanted, _bytesMax, take) => {
    for (const path of paths) if (!take(path, this.topic(path, type, wanted))) return
  }

  /**
   * Visits the matches in some ranges, in order, until the slice is over. Only keys are scanned, and keys that the matcher rules
   * out are skipped; the wanted parts of matches are read one by one. Between slices no snapshot stays open, unless the caller
   * keeps one: a scan continues after the last key that it saw.
   *
   * The clock is read for every key. That costs a tenth of a step; one call to the worst matcher costs as much as 1,000 steps.
   *
   * @returns the ranges that remain when time is up; undefined when the walk is complete
   */
  visit(
    { plan: { matcher }, type, wanted, take }: Scan,
    ranges: readonly KeyRange[],
    slice: Slice,
  ): readonly KeyRange[] | undefined {
    const tree = type === undefined ? this.environment.specifications : this.environment.items[type]
    let index = 0
    let range = ranges[0]
    let from = range?.start
    while (range !== undefined) {
      const { end } = range
      let jump: Buffer | undefined
      // Do not spread an object here: a page would cost a fifth more, mostly for the garbage collector.
      const options = { start: from, end, transaction: this.transaction }
      for (const path of tree.getKeys(options) as Iterable<Path>) {
        const verdict = matcher === undefined || matcher(path, slice)
        if (verdict === true && !take(path, wanted && this.topic(path, type, wanted), slice)) return undefined
        if (typeof verdict === 'object') jump = verdict
        if (slice.isOver()) return rangesFrom(ranges.slice(index), jump ?? keyAfter(encodeKey(path)))
        if (jump !== undefined) break
      }
      const reached = jump ?? end
      while (range !== undefined && Buffer.compare(range.end, reached) <= 0) range = ranges[++index]
      if (range === undefined) break
      from = Buffer.compare(range.start, reached) < 0 ? reached : range.start
      if (jump === undefined && slice.isOver()) return ranges.slice(index)
    }
    return undefined
  }

  /** Valid until the next read. */
  #read(tree: Tree, path: Path): Buffer | undefined {
    return tree.getBinaryFast(path, this.#options)
  }

  /** @param type if known; a topic of the other type then counts as absent */
  topic(path: Path, type: TopicType | undefined, wanted: Wanted): LmdbTopic | undefined {
    const { specifications, items } = this.environment
    const isItemEnough = type !== undefined && !wanted.head
    const record = isItemEnough ? undefined : this.#read(specifications, path)
    const stored = isItemEnough ? type : record && typeOf(record)
    if (stored === undefined || (type ?? stored) !== stored) return undefined
    // lmdb may use the same buffer for every record, so read the item last.
    const details = record && wanted.head ? detailsText(record) : undefined
    const item = isItemEnough || wanted.item || wanted.version ? this.#read(items[stored], path) : undefined
    if (isItemEnough && item === undefined) return undefined
    const version = item && wanted.version ? getLastVersion() : 0
    const shown = item && wanted.item ? this.#view(item, item.length) : undefined
    return new LmdbTopic(path, stored, details, shown, version, this)
  }

  /** The time of a topic's last update. @throws Error if it cannot be read */
  updated(path: Path): Moment | undefined {
    const record = this.#read(this.environment.updates, path)
    return record && (JSON.parse(record.toString('utf8', 0, record.length)) as Moment)
  }

  /** The path of the entry in `due` with this key, in hex. */
  pathAt(dueId: string): string | undefined {
    return this.environment.due.get(Buffer.from(dueId, 'hex'), this.#options)?.toString()
  }

  due(fromMs: number, untilMs: number, after: DuePlace | undefined, limit: number): readonly DuePlace[] {
    const start = after === undefined ? dueKey(fromMs, 0) : keyAfter(Buffer.from(after.id, 'hex'))
    const range = { ...this.#options, start, end: dueKey(untilMs + 1, 0), limit }
    return [...this.environment.due.getRange(range)].map(({ key, value }) => {
      // 0 for a key that is too short.
      return { atMs: key.length < dueKeyBytes ? 0 : dueMsOfKey(key), id: key.toString('hex'), path: pathIn(value) }
    })
  }

  record(table: RecordTable, name: string): Buffer | undefined {
    return this.environment[table].get(name, this.#options)
  }

  records(table: RecordTable): readonly (readonly [string, Buffer])[] {
    return [...this.environment[table].getRange({ ...this.#options })].map(({ key, value }) => [key, value] as const)
  }

  log(version: number, _keysAhead: number, take: (record: LogRecord) => boolean): void {
    for (const { key, value } of this.environment.changes.getRange({ ...this.#options, start: logBound(version) }))
      if (!take({ ...logPositionOf(key), keys: value })) return
  }

  logEnd(end: 'first' | 'last'): LogPosition {
    const [key] = this.environment.changes.getKeys({ ...this.#options, reverse: end === 'last', limit: 1 })
    if (key === undefined) throw new Error('the log of changes has no record')
    return logPositionOf(key)
  }
}

export class LmdbTopic implements StoredTopic {
  #details: Details | undefined

  constructor(
    private readonly path: Path,
    readonly type: TopicType,
    /** Undefined for a topic without properties, or if the head was not read. */
    private readonly detailsText: string | undefined,
    readonly item: Uint8Array | undefined,
    readonly version: number,
    private readonly view: LmdbView,
  ) {}

  updated(): Moment | undefined {
    return this.view.updated(this.path)
  }

  isScheduled(): boolean {
    const { dueId } = this
    return dueId !== undefined && this.view.pathAt(dueId) === this.path
  }

  get isPlain(): boolean {
    return this.detailsText === undefined
  }

  /** The key of its entry in `due`, in hex. If the details cannot be read, no topic owns the entry, and a sweep removes it. */
  get dueId(): string | undefined {
    try {
      return this.details()?.due
    } catch {
      return undefined
    }
  }

  /** @throws UnreadableTopic */
  details(): Details | undefined {
    const { path, detailsText } = this
    if (detailsText !== undefined) this.#details ??= readOf(path, () => parseDetails(detailsText))
    return this.#details
  }

  head(): Head | undefined {
    const details = this.details()
    if (details === undefined) return undefined
    const { properties, created, due } = details
    return { properties, created, due: due === undefined ? undefined : readOf(this.path, () => dueOf(due)) }
  }
}

/** @param id the key of the entry, in hex */
function dueOf(id: string): Due {
  return { atMs: dueMsOfKey(Buffer.from(id, 'hex')), id }
}

/** Undefined if the value is not a path, so no topic can own the entry. */
function pathIn(value: Buffer): Path | undefined {
  const text = value.toString()
  return parsePath(text) === text ? (text as Path) : undefined
}
