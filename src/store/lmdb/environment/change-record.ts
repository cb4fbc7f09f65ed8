/**
 * The records of the log of changes: which topics each commit changed, in the order of the commits. When they are written
 * and trimmed is decided in write/change-log.ts.
 *
 * A record is one commit:
 *
 *     key     the version of its last change, and how many changes the log has had, with its own; each a big-endian double
 *     value   the keys of the topics that it changed, each after its length (16 bits, big-endian)
 *
 * The last record also says which version was the last one that a change took, so it is never trimmed. The log tells what
 * changed since a version if that is the version of a record that it has.
 */
import type { Database } from 'lmdb'
import type { Path } from '../../../topics/path.js'

/** Keys and values are those of the records. */
export type LogTable = Database<Buffer, Buffer>

const doubleBytes = 8

/** Of the length before a key. */
export const keyLengthBytes = 2

/** Where a record is in the log. */
export interface LogPosition {
  /** The version of the commit's last change. */
  readonly version: number
  /** How many changes the log has had by then. */
  readonly total: number
}

/** What the record of a commit says. */
export interface LoggedRecord {
  /** Where the record before it is. */
  readonly after: LogPosition
  readonly position: LogPosition
  readonly value: Buffer
}

/** The most bytes that a change of this topic adds to the log. */
export function loggedBytesMax(path: Path): number {
  return keyLengthBytes + 3 * path.length
}

/** The key of a record. */
export function changeRecordKey({ version, total }: LogPosition): Buffer {
  const key = Buffer.allocUnsafe(2 * doubleBytes)
  key.writeDoubleBE(version)
  key.writeDoubleBE(total, doubleBytes)
  return key
}

/** A bound of a range: it sorts before the record of this version, and after all earlier ones. */
export function logBound(version: number): Buffer {
  return changeRecordKey({ version, total: 0 }).subarray(0, doubleBytes)
}

/** What the key of a record says. */
export function logPositionOf(key: Buffer): LogPosition {
  return { version: key.readDoubleBE(), total: key.readDoubleBE(doubleBytes) }
}

/** The topics' keys in a record's value, as views. @throws RangeError when it ends within one */
export function* loggedKeys(value: Buffer): Generator<Buffer> {
  for (let at = 0; at < value.length; ) {
    const start = at + keyLengthBytes
    const end = start + value.readUInt16BE(at)
    if (end > value.length) throw new RangeError('a record of the log ends within a key')
    yield value.subarray(start, end)
    at = end
  }
}

/** Begins the log of a store that has none, in which no version is greater than `last`; within a transaction. */
export function beginLog(table: LogTable, last: number): void {
  table.putSync(changeRecordKey({ version: last, total: 0 }), Buffer.alloc(0))
}
