/**
 * The change log in the process that writes it. The transaction that makes the changes also writes their record
 * (environment/change-record.ts), so the log neither misses a change nor contains one that was not made.
 */
import { strict as assert } from 'node:assert'
import { changesKeptDefault, operationsInOneCommitMax } from '../../../settings/limits.js'
import type { Path } from '../../../topics/path.js'
import { nextVersion } from '../../../topics/version.js'
import type { LoggedRecord } from '../../engine.js'
import { StoreUnusable } from '../../errors.js'
import { loggedKeys } from '../../logged-keys.js'
import { changeRecordKey, type LogTable, logPositionOf } from '../environment/change-record.js'

/**
 * Maximum records that one commit trims: more than the maximum operations per commit, so that large commits do not leave behind a
 * growing number of small records. Also few enough to take only a few ms after the setting has been lowered.
 */
const recordsTrimmedInOneCommitMax = 2 * operationsInOneCommitMax

/** Number of keys of the oldest records to read at a time. */
const oldestReadMax = 100

/** If the transaction of `add` and `put` fails, the process must reopen the store. */
export class ChangeLog {
  /** The version of the last change. */
  #last: number
  /** The number of changes ever logged. */
  #total: number
  #lastKey: Buffer
  /** The keys of the oldest records, as far as they have been read. */
  #oldest: Buffer[] = []
  /** The paths of the changes that `put` has not logged yet. */
  #paths: Path[] = []

  /**
   * @param keptMin the minimum number of changes to keep, in whole commits; 0 keeps only the last commit
   * @throws StoreUnusable if the log has no record
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

  get last(): number {
    return this.#last
  }

  /** Adds a topic's change to the current commit. @returns the version of the change */
  add(path: Path, nowMs: number): number {
    this.#last = nextVersion(this.#last, nowMs)
    this.#paths.push(path)
    return this.#last
  }

  /** Call last in each transaction; trims the log. @returns the commit's record, if any */
  put(): LoggedRecord | undefined {
    if (this.#paths.length === 0) return undefined
    this.#total += this.#paths.length
    const position = { version: this.#last, total: this.#total }
    const record = { before: logPositionOf(this.#lastKey), ...position, keys: loggedKeys(this.#paths) }
    const key = changeRecordKey(position)
    // Appends to the last page, which is filled before a new one is allocated.
    assert(this.table.putSync(key, record.keys, { append: true }), 'the log is in order')
    this.#lastKey = key
    this.#paths = []
    this.#trim()
    return record
  }

  #trim(): void {
    for (let left = recordsTrimmedInOneCommitMax; left > 0; left--) {
      if (this.#oldest.length === 0) this.#oldest = [...this.table.getKeys({ limit: oldestReadMax })]
      const [oldest = this.#lastKey] = this.#oldest
      // Stop if fewer than `keptMin` changes follow this record.
      if (oldest.equals(this.#lastKey) || this.#total - logPositionOf(oldest).total < this.keptMin) return
      this.table.removeSync(oldest)
      this.#oldest.shift()
    }
  }
}
