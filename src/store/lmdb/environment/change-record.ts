/**
 * The records of the change log, in the order of the commits. commit/change-log.ts decides when to write and trim them.
 *
 * A record describes one commit:
 *
 *     key     the version of its last change, and the running total of changes up to and including this commit; each a big-endian double
 *     value   the keys of the topics that it changed (store/logged-keys.ts)
 *
 * The last record also holds the last version assigned to a change, so it is never trimmed.
 */
import type { Database } from 'lmdb'
import type { LogPosition } from '../../engine.js'

export type LogTable = Database<Buffer, Buffer>

const doubleBytes = 8

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

export function logPositionOf(key: Buffer): LogPosition {
  return { version: key.readDoubleBE(), total: key.readDoubleBE(doubleBytes) }
}
