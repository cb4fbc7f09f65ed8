/**
 * One snapshot of all databases, for walks over everything, and how such a walk detects a damaged page. lmdb does not
 * report one: the walk ends early, or continues on a wrong page. So a walk compares each key with the one before, and
 * the number of entries that it found with the number that the database states.
 */
import type { Transaction } from 'lmdb'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import type { Records } from '../../engine.js'
import type { Environment } from '../environment/environment.js'

/** Opens a snapshot, which is held until `transaction.done()`, with the number of entries that each database states. */
export function openSnapshot({ specifications, items, updates, due, changes, keys, keyUses }: Environment): {
  readonly transaction: Transaction
  readonly stated: Records
} {
  specifications.resetReadTxn()
  const transaction = specifications.useReadTransaction()
  // In the same turn: lmdb counts in the snapshot that was taken last.
  const stated = {
    topics: entryCount(specifications),
    json: entryCount(items.json),
    string: entryCount(items.string),
    updates: entryCount(updates),
    due: entryCount(due),
    changes: entryCount(changes),
    keys: entryCount(keys),
    keyUses: entryCount(keyUses),
  }
  return { transaction, stated }
}

/** The number of entries that a database states in the current snapshot. */
export function entryCount(database: { getStats(): unknown }): number {
  return (database.getStats() as { entryCount: number }).entryCount
}

/** A function that returns, for each key of a walk, whether it sorts after the one before. */
export function createOrder(): (path: Path) => boolean {
  let last: Buffer = Buffer.alloc(0)
  return (path) => {
    const key = encodeKey(path)
    const isNext = Buffer.compare(last, key) < 0
    last = key
    return isNext
  }
}
