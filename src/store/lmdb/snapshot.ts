/**
 * One snapshot of all databases, for walks over everything, and how such a walk notices a damaged page. lmdb does not report
 * one: the walk merely ends early, or goes astray. So a walk compares each key with the one before, and what it found with
 * the number of entries that each database states.
 */
import type { Transaction } from 'lmdb'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { StoreUnusable } from '../store.js'
import type { Environment, StoredKey, Tree } from './environment.js'

/** Passed to lmdb's reads as their options. */
export interface Snapshot {
  readonly transaction: Transaction
}

/** How many entries each database states that it has. */
export type Entries = Readonly<
  Record<'specifications' | 'json' | 'string' | 'updates' | 'due' | 'keys' | 'keyUses', number>
>

/** Opens a snapshot of this moment, which is held until `transaction.done()`. */
export function openSnapshot({ specifications, items, updates, due, keys, keyUses }: Environment): {
  readonly snapshot: Snapshot
  readonly entries: Entries
} {
  specifications.resetReadTxn()
  const transaction = specifications.useReadTransaction()
  // In the same turn: lmdb counts in the snapshot that was taken last.
  const entries = {
    specifications: entryCount(specifications),
    json: entryCount(items.json),
    string: entryCount(items.string),
    updates: entryCount(updates),
    due: entryCount(due),
    keys: entryCount(keys),
    keyUses: entryCount(keyUses),
  }
  return { snapshot: { transaction }, entries }
}

/** How many entries a database states that it has in the current snapshot. */
export function entryCount(database: { getStats(): unknown }): number {
  return (database.getStats() as { entryCount: number }).entryCount
}

/** `get` in a snapshot: lmdb accepts the option although its types lack it for some methods. */
export function getIn(tree: Tree, key: StoredKey, snapshot: Snapshot): Buffer | undefined {
  return tree.get(key, snapshot)
}

/** A function that tells for each key of a walk whether it sorts after the one before. */
export function createOrder(): (path: Path) => boolean {
  let last: Buffer = Buffer.alloc(0)
  return (path) => {
    const key = encodeKey(path)
    const isNext = Buffer.compare(last, key) < 0
    last = key
    return isNext
  }
}

/** The message for a person about a store in which a walk failed; LMDB's own errors are words such as MDB_CORRUPTED. */
export function damaged(what: unknown): StoreUnusable {
  const words = what instanceof Error ? what.message : String(what)
  return new StoreUnusable(`the store is damaged: ${words}. Restore a backup; "topicd check" says more`, {
    cause: what,
  })
}
