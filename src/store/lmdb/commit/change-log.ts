/**
 * The log of changes, as the process that writes keeps it. Its records (environment/change-record.ts) are written by the
 * transaction of the changes, so it can neither miss one nor have one that was not made.
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
 * Records that one commit trims: more than it may have operations, so that large commits do not leave more and more of
 * small ones behind, and few enough to take some ms when the setting was lowered.
 */
const recordsTrimmedInOneCommitMax = 2 * operationsInOneCommitMax

/** Keys of the oldest records that are read at once. */
const oldestReadMax = 100

/** If the transaction of `add` and `put` fails, the process has to open the store again. */
export class ChangeLog {
  /** The last version that a change took. */
  #last: number
  /** How many changes the log has had. */
  #total: number
  #lastKey: Buffer
  /** Keys of the oldest records, as far as they were read. */
  #oldest: Buffer[] = []
  /** Of the changes since the last `put`. */
  #paths: Path[] = []

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

  get last(): number {
    return this.#last
  }

  /** Adds a change of a topic to the commit that is being made. @returns the version of the change */
  add(path: Path, nowMs: number): number {
    this.#last = nextVersion(this.#last, nowMs)
    this.#paths.push(path)
    return this.#last
  }

  /** Call last in each transaction; trims the log. @returns its record, if any */
  put(): LoggedRecord | undefined {
    if (this.#paths.length === 0) return undefined
    this.#total += this.#paths.length
    const position = { version: this.#last, total: this.#total }
    const record = { before: logPositionOf(this.#lastKey), ...position, keys: loggedKeys(this.#paths) }
    const key = changeRecordKey(position)
    // At the end of the last page, which is filled before there is a new one.
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
      // The changes after this record would still suffice.
      if (oldest.equals(this.#lastKey) || this.#total - logPositionOf(oldest).total < this.keptMin) return
      this.table.removeSync(oldest)
      this.#oldest.shift()
    }
  }
}
