/**
 * The log of changes: which topics each commit changed, in the order of the commits. It is written by the transaction of
 * those changes, so it can neither miss one nor have one that was not made.
 *
 * A record is one commit:
 *
 *     key     the version of its last change, and how many changes the log has had, with its own; each a big-endian double
 *     value   the keys of the topics that it changed, each after its length (16 bits, big-endian)
 *
 * The last record also says which version was the last one that a change took, so it is never trimmed. The log tells what
 * changed since a version if that is the version of a record that it has.
 */
import { strict as assert } from 'node:assert'
import type { Database } from 'lmdb'
import { changesKeptDefault, pathBytesMax } from '../../limits.js'
import { writeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { nextVersion } from '../../topics/version.js'
import { StoreUnusable } from '../store.js'

/** Keys and values are those of the records. */
export type LogTable = Database<Buffer, Buffer>

const doubleBytes = 8
const lengthBytes = 2

/** Room for the keys of a commit of many small writes; it grows for others. */
const bufferBytesMin = 64 * 1024

/**
 * Records that one commit trims: more than it may have operations, so that large commits do not leave more and more of
 * small ones behind, and few enough to take some ms when the setting was lowered.
 */
const recordsTrimmedInOneCommitMax = 4000

/** Keys of the oldest records that are read at once. */
const oldestReadMax = 100

/** Where a record is in the log. */
export interface LogPosition {
  /** The version of the commit's last change. */
  readonly version: number
  /** How many changes the log has had by then. */
  readonly total: number
}

/** The most bytes that a change of this topic adds to the log. */
export function loggedBytesMax(path: Path): number {
  return lengthBytes + 3 * path.length
}

function logKey({ version, total }: LogPosition): Buffer {
  const key = Buffer.allocUnsafe(2 * doubleBytes)
  key.writeDoubleBE(version)
  key.writeDoubleBE(total, doubleBytes)
  return key
}

/** A bound of a range: it sorts before the record of this version, and after all earlier ones. */
export function logBound(version: number): Buffer {
  return logKey({ version, total: 0 }).subarray(0, doubleBytes)
}

/** What the key of a record says. */
export function logPositionOf(key: Buffer): LogPosition {
  return { version: key.readDoubleBE(), total: key.readDoubleBE(doubleBytes) }
}

/** The topics' keys in a record's value, as views. @throws RangeError when it ends within one */
export function* loggedKeys(value: Buffer): Generator<Buffer> {
  for (let at = 0; at < value.length; ) {
    const start = at + lengthBytes
    const end = start + value.readUInt16BE(at)
    if (end > value.length) throw new RangeError('a record of the log ends within a key')
    yield value.subarray(start, end)
    at = end
  }
}

/** Begins the log of a store that has none, in which no version is greater than `last`; within a transaction. */
export function beginLog(table: LogTable, last: number): void {
  table.putSync(logKey({ version: last, total: 0 }), Buffer.alloc(0))
}

/**
 * The log as the process that writes sees it. What `add` and `put` do belongs to one transaction: if that fails, the
 * process has to open the store again.
 */
export class ChangeLog {
  /** The last version that a change took. */
  #last: number
  /** How many changes the log has had. */
  #total: number
  /** The key of the last record. */
  #lastKey: Buffer
  /** Keys of the oldest records, as far as they were read. */
  #oldest: Buffer[] = []
  #buffer = Buffer.allocUnsafeSlow(bufferBytesMin)
  #end = 0
  /** Whether anything was added since the last `put`. */
  #isChanged = false

  /**
   * @param keptMin how many changes it keeps, apart from what else is in their commits; with 0, the last commit
   * @throws StoreUnusable when the log has no record
   */
  constructor(
    private readonly table: LogTable,
    private readonly keptMin = changesKeptDefault,
  ) {
    const [last] = [...table.getKeys({ reverse: true, limit: 1 })]
    if (last === undefined)
      throw new StoreUnusable('the store is damaged: its log of changes has no record. Restore a backup')
    const { version, total } = logPositionOf(last)
    this.#last = version
    this.#total = total
    this.#lastKey = last
  }

  /** Adds a change of a topic to the commit that is being made. @returns the version of the change */
  add(path: Path, nowMs: number): number {
    this.#last = nextVersion(this.#last, nowMs)
    this.#isChanged = true
    this.#append(path)
    return this.#last
  }

  /** To be called last in each transaction: writes the record of what was added, and trims the log. */
  put(): void {
    if (!this.#isChanged) return
    const key = logKey({ version: this.#last, total: this.#total })
    // At the end of the last page, which is filled before there is a new one.
    assert(this.table.putSync(key, this.#buffer.subarray(0, this.#end), { append: true }), 'the log is in order')
    this.#lastKey = key
    this.#end = 0
    this.#isChanged = false
    this.#trim()
  }

  #append(path: Path): void {
    if (this.#end + lengthBytes + pathBytesMax > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(2 * this.#buffer.length)
      grown.set(this.#buffer)
      this.#buffer = grown
    }
    const start = this.#end + lengthBytes
    const end = writeKey(path, this.#buffer, start)
    this.#buffer.writeUInt16BE(end - start, this.#end)
    this.#end = end
    this.#total++
  }

  #trim(): void {
    for (let left = recordsTrimmedInOneCommitMax; left > 0; left--) {
      if (this.#oldest.length === 0) this.#oldest = [...this.table.getKeys({ limit: oldestReadMax })]
      const [oldest = this.#lastKey] = this.#oldest
      // What is kept after this record would still be enough.
      if (oldest.equals(this.#lastKey) || this.#total - logPositionOf(oldest).total < this.keptMin) return
      this.table.removeSync(oldest)
      this.#oldest.shift()
    }
  }
}
