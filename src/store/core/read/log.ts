/**
 * Snapshots of the change log and the topics. A place lies after a commit and possibly after some keys of the next commit. It is
 * encoded as big-endian numbers:
 *
 *     id of the store, double
 *     version of the commit, double
 *     running total of changes up to and including this commit, double
 *     number of the next commit's keys that precede the place, uint32
 *     if there are any such keys: version of the next commit, double; missing in places from 1.0.0
 *
 * The log contains all changes after a place if it contains the record of the place's commit, or if its first record is the next
 * one, because trimming removes the oldest records first. Both can also be missing because a failover of the engine has lost the
 * last commits.
 */
import { type Awaitable, whenKnown } from '../../../base/awaitable.js'
import { inSlice, type Slice } from '../../../base/time-slices.js'
import { updatedMs } from '../../../topics/version.js'
import type { ChangeReader, LoggedChanges, LoggedCommit, LogPlace, LogRange, LogSnapshot } from '../../changes.js'
import type { Engine, LoggedRecord, LogPosition, LogRecord, View } from '../../engine.js'
import { addLoggedKeys, countLoggedKeys } from '../../logged-keys.js'
import { itemIn, typeOfForm, wantedFor } from './forms.js'

/** Maximum number of unreadable records to report: a damaged log must not fill the service's log or memory. */
const unreadableNamedMax = 1000

const doubleBytes = 8
const placeBytes = 3 * doubleBytes + 4

interface Place extends LogPosition {
  readonly storeId: number
  /** The number of the next commit's keys that precede the place. */
  readonly keys: number
  /** The version of that next commit, if the place is within it and the version is known. */
  readonly next: number | undefined
}

/** The place after a commit and `keys` keys of the next commit, whose version is `next`. Without such keys, `next` is undefined. */
function encodePlace(storeId: number, { version, total }: LogPosition, keys = 0, next?: number): LogPlace {
  const place = Buffer.allocUnsafe(placeBytes + (next === undefined ? 0 : doubleBytes))
  place.writeDoubleBE(storeId)
  place.writeDoubleBE(version, doubleBytes)
  place.writeDoubleBE(total, 2 * doubleBytes)
  place.writeUInt32BE(keys, 3 * doubleBytes)
  if (next !== undefined) place.writeDoubleBE(next, placeBytes)
  return place
}

/** Undefined for bytes of another length, such as a place from 1.0.0 on PostgreSQL. */
function decodePlace(place: LogPlace): Place | undefined {
  const hasNext = place.length === placeBytes + doubleBytes
  if (place.length !== placeBytes && !hasNext) return undefined
  return {
    storeId: place.readDoubleBE(),
    version: place.readDoubleBE(doubleBytes),
    total: place.readDoubleBE(2 * doubleBytes),
    keys: place.readUInt32BE(3 * doubleBytes),
    next: hasNext ? place.readDoubleBE(placeBytes) : undefined,
  }
}

/** The position of a commit's keys among the keys that were read. */
interface Commit {
  readonly firstIndex: number
  readonly version: number
  readonly before: LogPosition
  /** The number of its keys before the first one that was read. */
  readonly skipped: number
}

export class LogReads implements ChangeReader {
  /** Versions of the reported unreadable records. */
  readonly #reported = new Set<number>()
  /** The id of the store, once read. */
  #storeId: number | undefined

  /** @param onUnreadable called once for each record that cannot be read */
  constructor(
    private readonly engine: Engine,
    private readonly onUnreadable: (reason: Error) => void,
  ) {}

  // Read the id first: an engine with a single session could not read it during the snapshot.
  readonly inSnapshot = <T>(work: (log: LogSnapshot) => Awaitable<T>): Awaitable<T> =>
    whenKnown(this.#idOfStore(), (id) => this.engine.inSnapshot((view, slice) => work(this.#in(view, slice, id))))

  // Non-negative doubles compare as their bytes do.
  readonly isAfter = (place: LogPlace, earlier: LogPlace): boolean => Buffer.compare(place, earlier) >= 0

  readonly followLog = (onGrown: (commit?: LoggedCommit) => void): (() => void) =>
    this.engine.follow((record) => onGrown(record && this.#commitOf(record)))

  #idOfStore(): Awaitable<number> {
    return this.#storeId ?? whenKnown(this.engine.storeId(), (id) => (this.#storeId = id))
  }

  readonly readRange = (): Awaitable<LogRange> =>
    this.engine.atOnce((view) =>
      whenKnown(view.logEnd('last'), (last) => {
        let range: LogRange = { changes: 0, sinceMs: updatedMs(last.version) }
        const take = ({ version, total, keys }: LogRecord): boolean => {
          range = { changes: last.total - total + (countLoggedKeys(keys) ?? 0), sinceMs: updatedMs(version) }
          return false
        }
        return whenKnown(view.log(0, 1, take), () => range)
      }),
    )

  #in(view: View, slice: Slice, id: number): LogSnapshot {
    return {
      end: () => whenKnown(view.logEnd('last'), (last) => encodePlace(id, last)),
      changesAfter: (place, keysMax, take) => {
        const changes = this.#changesAfter(view, id, place, keysMax)
        if (changes instanceof Promise) return changes.then((read) => inSlice((later) => take(read, later)))
        return take(changes, slice)
      },
      readItems: (paths, form, bytesMax, take) =>
        view.topics(paths, typeOfForm(form), wantedFor(form), bytesMax, (path, topic) =>
          take(topic && itemIn(form, path, topic)),
        ),
    }
  }

  #changesAfter(view: View, id: number, bytes: LogPlace, keysMax: number): Awaitable<LoggedChanges | 'gone'> {
    const place = decodePlace(bytes)
    if (place?.storeId !== id) return 'gone'
    const reading = new LogReading(place, keysMax)
    return whenKnown(view.log(place.version, keysMax, reading.take), () => {
      if (reading.unreadable !== undefined) this.#report(reading.unreadable)
      const { missedBefore } = reading
      if (missedBefore === undefined) return reading.changes()
      return whenKnown(view.logEnd('first'), ({ version }) => (version < missedBefore ? 'gone' : reading.changes()))
    })
  }

  /** Reports an unreadable record once. Followers start over after it; otherwise, they would be stuck there forever. */
  #report({ version }: LogRecord): void {
    if (this.#reported.has(version) || this.#reported.size === unreadableNamedMax) return
    this.#reported.add(version)
    const followers = 'clients that follow the log start over after it'
    this.onUnreadable(new Error(`record ${version} of the log: its keys cannot be read; ${followers}`))
  }

  /** Decodes a record that was just written; reads nothing. Undefined until the store's id is known. */
  #commitOf({ before, version, total, keys: bytes }: LoggedRecord): LoggedCommit | undefined {
    const id = this.#storeId
    const keys: string[] = []
    if (id === undefined || !addLoggedKeys(keys, bytes, 0)) return undefined
    return { from: encodePlace(id, before), to: encodePlace(id, { version, total }), keys }
  }
}

/** Collects the changes after a place, record by record, from the place's version onwards. */
class LogReading {
  readonly #keys: string[] = []
  readonly #commits: Commit[] = []
  #last: LogPosition | undefined
  #skipped: number
  #isGone = false
  #isAll = true
  /** The record with unreadable keys that ended the reading. */
  unreadable: LogRecord | undefined
  /** If the place's own record is missing, the version of the first record that was read, which must then be the first in the log. */
  missedBefore: number | undefined

  constructor(
    private readonly place: Place,
    private readonly keysMax: number,
  ) {
    this.#skipped = place.keys
  }

  /** @returns whether another record is needed */
  readonly take = (record: LogRecord): boolean => {
    const { version, total, keys } = record
    if (this.#last === undefined) {
      const { place } = this
      this.#last = place
      const isOwn = version === place.version
      this.#isGone = place.total !== (isOwn ? total : total - (countLoggedKeys(keys) ?? 0))
      if (isOwn || this.#isGone) return !this.#isGone
      this.missedBefore = version
    }
    // The place is within a commit that is not in the log, so the place is gone.
    this.#isGone ||= this.#skipped > 0 && (this.place.next ?? version) !== version
    if (this.#isGone) return false
    if (this.#keys.length >= this.keysMax) this.#isAll = false
    else this.#add(record, this.#last)
    return this.#isAll && !this.#isGone
  }

  changes(): LoggedChanges | 'gone' {
    const last = this.#last
    if (this.#isGone || last === undefined || this.#skipped > 0) return 'gone'
    const { storeId } = this.place
    const keys = this.#keys
    const commits = this.#commits
    return {
      keys,
      isAll: this.#isAll,
      placeAt: (index) => (index >= keys.length ? encodePlace(storeId, last) : placeWithin(storeId, commits, index)),
    }
  }

  #add(record: LogRecord, before: LogPosition): void {
    const { version } = record
    this.#commits.push({ firstIndex: this.#keys.length, version, before, skipped: this.#skipped })
    if (!addLoggedKeys(this.#keys, record.keys, this.#skipped)) {
      this.unreadable = record
      this.#isGone = true
    }
    this.#skipped = 0
    this.#last = { version, total: record.total }
  }
}

/** The place just before key `index`. */
function placeWithin(storeId: number, commits: readonly Commit[], index: number): LogPlace {
  let low = 0
  for (let high = commits.length; high - low > 1; ) {
    const middle = (low + high) >> 1
    if ((commits[middle] as Commit).firstIndex <= index) low = middle
    else high = middle
  }
  const { firstIndex, version, before, skipped } = commits[low] as Commit
  const keys = skipped + index - firstIndex
  return encodePlace(storeId, before, keys, keys === 0 ? undefined : version)
}
