/**
 * The log of changes and the topics in one snapshot of lmdb. A place is after a commit and some keys of the next one, as
 * big-endian numbers:
 *
 *     id of the store, double
 *     version of the commit, double
 *     how many changes the log had had with it, double
 *     keys of the next one, uint32
 *
 * The log has all changes after a place if it has that commit's record, or if its first record is the next one: records
 * are trimmed from the oldest on.
 */
import type { Slice } from '../../../base/time-slices.js'
import { keyTextOf } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { updatedMs } from '../../../topics/version.js'
import type { LoggedChanges, LoggedCommit, LogPlace, LogRange, LogSnapshot } from '../../changes.js'
import { type ItemForm, isStoredForm } from '../../topics.js'
import {
  keyLengthBytes,
  type LoggedRecord,
  type LogPosition,
  logBound,
  loggedKeys,
  logPositionOf,
} from '../environment/change-record.js'
import type { Environment } from '../environment/environment.js'
import { readInForm } from './item-forms.js'

/** Unreadable records that are reported, so that a damaged log fills neither the service's log nor memory. */
const unreadableNamedMax = 1000

const doubleBytes = 8
const placeBytes = 3 * doubleBytes + 4

interface Place extends LogPosition {
  readonly storeId: number
  /** How many keys of the next commit it comes after. */
  readonly keys: number
}

function encodePlace({ storeId, version, total, keys }: Place): LogPlace {
  const place = Buffer.allocUnsafe(placeBytes)
  place.writeDoubleBE(storeId)
  place.writeDoubleBE(version, doubleBytes)
  place.writeDoubleBE(total, 2 * doubleBytes)
  place.writeUInt32BE(keys, 3 * doubleBytes)
  return place
}

/** Undefined for bytes of another length, such as a place of another engine. */
function decodePlace(place: LogPlace): Place | undefined {
  if (place.length !== placeBytes) return undefined
  return {
    storeId: place.readDoubleBE(),
    version: place.readDoubleBE(doubleBytes),
    total: place.readDoubleBE(2 * doubleBytes),
    keys: place.readUInt32BE(3 * doubleBytes),
  }
}

/** See `ChangeReader`. */
export function isAfter(place: LogPlace, earlier: LogPlace): boolean {
  // Non-negative doubles compare as their bytes do.
  return Buffer.compare(place, earlier) >= 0
}

/** Where the keys of a commit begin among those that were read. */
interface Commit {
  readonly firstIndex: number
  /** The commit before it. */
  readonly after: LogPosition
  /** Keys of it that come before the first that was read. */
  readonly skipped: number
}

/** Reads within the snapshot that lmdb has at the moment: `inSnapshot` in open.ts takes it. */
export class LogReads {
  readonly #changes: Environment['changes']
  /** The versions of the unreadable records that were reported. */
  readonly #reported = new Set<number>()

  /** @param onUnreadable called once for each record that cannot be read */
  constructor(
    private readonly environment: Environment,
    private readonly onUnreadable: (reason: Error) => void,
  ) {
    this.#changes = environment.changes
  }

  /** What may be read in a slice. */
  in(slice: Slice): LogSnapshot {
    return {
      end: () => this.#end(),
      changesAfter: (place, keysMax, take) => take(this.#changesAfter(place, keysMax), slice),
      readItems: (paths, form, _bytesMax, take) => this.#readItems(paths, form, take),
    }
  }

  #end(): LogPlace {
    return encodePlace({ storeId: this.environment.storeId, ...this.#last(), keys: 0 })
  }

  #changesAfter(bytes: LogPlace, keysMax: number): LoggedChanges | 'gone' {
    const { storeId } = this.environment
    const place = decodePlace(bytes)
    if (place?.storeId !== storeId) return 'gone'
    const keys: string[] = []
    const commits: Commit[] = []
    let last: LogPosition | undefined
    let skipped = place.keys
    let isAll = true
    for (const { key, value } of this.#changes.getRange({ start: logBound(place.version) })) {
      const position = logPositionOf(key)
      if (last === undefined && position.version !== place.version) {
        if (position.total - countOf(value) !== place.total) return 'gone'
        last = place
      }
      if (last !== undefined && keys.length >= keysMax) {
        isAll = false
        break
      }
      if (last !== undefined) {
        commits.push({ firstIndex: keys.length, after: last, skipped })
        try {
          addKeys(keys, value, skipped)
        } catch (error) {
          // Its followers start over behind it, since they would be stuck here forever.
          this.#report(position.version, error)
          return 'gone'
        }
        skipped = 0
      }
      last = position
    }
    if (last === undefined) return 'gone'
    const end = { storeId, ...last, keys: 0 }
    return {
      keys,
      isAll,
      placeAt: (index) => encodePlace(index >= keys.length ? end : { storeId, ...within(commits, index) }),
    }
  }

  #report(version: number, cause: unknown): void {
    if (this.#reported.has(version) || this.#reported.size === unreadableNamedMax) return
    this.#reported.add(version)
    const followers = 'whatever follows the log starts over behind it'
    this.onUnreadable(new Error(`record ${version} of the log: its keys cannot be read; ${followers}`, { cause }))
  }

  #readItems(paths: readonly Path[], form: ItemForm, take: (item: Uint8Array | undefined) => boolean): void {
    const { items } = this.environment
    const read = isStoredForm(form)
      ? (path: Path) => items[form.type].getBinaryFast(path)
      : (path: Path) => readInForm(this.environment, path, form)
    for (const path of paths) {
      const item = read(path)
      // lmdb may return a buffer whose length it overwrites later.
      if (!take(item && new Uint8Array(item.buffer, item.byteOffset, item.length))) return
    }
  }

  /** What a record says that was just written, without reading anything. */
  commitOf({ after, position, value }: LoggedRecord): LoggedCommit {
    const { storeId } = this.environment
    const keys: string[] = []
    addKeys(keys, value, 0)
    return {
      from: encodePlace({ storeId, ...after, keys: 0 }),
      to: encodePlace({ storeId, ...position, keys: 0 }),
      keys,
    }
  }

  /** How far back the log reaches. */
  range(): LogRange {
    const last = this.#last()
    const [first] = this.#changes.getRange({ limit: 1 })
    if (first === undefined) return { changes: 0, sinceMs: updatedMs(last.version) }
    const { version, total } = logPositionOf(first.key)
    return { changes: last.total - total + countOf(first.value), sinceMs: updatedMs(version) }
  }

  #last(): LogPosition {
    const [last] = this.#changes.getKeys({ reverse: true, limit: 1 })
    if (last === undefined) throw new Error('the log of changes has no record')
    return logPositionOf(last)
  }
}

/** How many keys a record has; none if they cannot be read. */
function countOf(record: Buffer): number {
  let count = 0
  try {
    for (const _ of loggedKeys(record)) count++
  } catch {
    return 0
  }
  return count
}

/** Adds the keys of a record, without the first `skipped` ones. @throws RangeError when it ends within one */
function addKeys(keys: string[], record: Buffer, skipped: number): void {
  let left = skipped
  for (let at = 0; at < record.length; ) {
    const start = at + keyLengthBytes
    at = start + record.readUInt16BE(at)
    if (at > record.length) throw new RangeError('a record of the log ends within a key')
    if (left > 0) left--
    else keys.push(keyTextOf(record, start, at))
  }
}

/** The place before the key with this index. */
function within(commits: readonly Commit[], index: number): Omit<Place, 'storeId'> {
  let low = 0
  for (let high = commits.length; high - low > 1; ) {
    const middle = (low + high) >> 1
    if ((commits[middle] as Commit).firstIndex <= index) low = middle
    else high = middle
  }
  const { firstIndex, after, skipped } = commits[low] as Commit
  return { ...after, keys: skipped + index - firstIndex }
}
