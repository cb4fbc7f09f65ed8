/**
 * One consistent cut through all databases, for walks over everything, and what tells that such a walk met a damaged page.
 * lmdb says nothing of one: a walk just ends early, or goes astray. So the keys are held to their order, and what was found
 * to the number of entries that the databases themselves give.
 */
import type { Transaction } from 'lmdb'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { StoreUnusable } from '../store.js'
import type { Environment, StoredKey, Tree } from './environment.js'

/** Handed to lmdb's reads as their options. */
export interface Snapshot {
  readonly transaction: Transaction
}

/** How many entries each database has in a cut, by its own account. */
export type Entries = Readonly<
  Record<'specifications' | 'json' | 'string' | 'updates' | 'due' | 'keys' | 'keyUses', number>
>

/** Opens a cut of this moment; `transaction.done()` ends it. It holds its snapshot until then. */
export function openSnapshot({ specifications, items, updates, due, keys, keyUses }: Environment): {
  readonly cut: Snapshot
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
  return { cut: { transaction }, entries }
}

/** How many entries a database has in the current snapshot, by its own account. */
export function entryCount(database: { getStats(): unknown }): number {
  return (database.getStats() as { entryCount: number }).entryCount
}

/** lmdb reads `get`'s transaction option although its types do not show it for every method. */
export function getIn(tree: Tree, key: StoredKey, cut: Snapshot): Buffer | undefined {
  return tree.get(key, cut)
}

/** Tells of each key of a walk whether it sorts after the one before. */
export function createOrder(): (path: Path) => boolean {
  let last: Buffer = Buffer.alloc(0)
  return (path) => {
    const key = encodeKey(path)
    const isNext = Buffer.compare(last, key) < 0
    last = key
    return isNext
  }
}

/** What a person is told of a store in which a walk failed; lmdb's own errors are words such as MDB_CORRUPTED. */
export function damaged(what: unknown): StoreUnusable {
  const words = what instanceof Error ? what.message : String(what)
  return new StoreUnusable(`the store is damaged: ${words}. Restore a backup; "topicd check" says more`, {
    cause: what,
  })
}
