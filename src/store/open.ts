/**
 * Which engine stores the topics: the only file that knows them all. It loads the PostgreSQL engine on demand.
 */
import { isExclusive, isPostgresAddress, redactAddress } from './address.js'
import { type LmdbOptions, openLmdbStore } from './lmdb/open.js'
import type { PostgresOptions } from './postgres/open.js'
import type { TopicStore } from './store.js'

/**
 * Opens the store that `address` names: `lmdb` (in the data directory) or a postgres:// address. Only the code of the
 * engine in use is loaded, except that lmdb's always is, since opening it must take milliseconds.
 *
 * @throws Error when it cannot be opened
 */
export async function openStore(address: string, options: LmdbOptions & PostgresOptions): Promise<TopicStore> {
  if (isExclusive(address)) return openLmdbStore(options)
  requirePostgres(address)
  const { openPostgresStore } = await import('./postgres/open.js')
  return openPostgresStore(address, options)
}

/**
 * Creates, or upgrades, what the store at `address` needs before it can be opened.
 *
 * @returns the versions before and after
 * @throws Error when that cannot be done, or the store needs nothing
 */
export async function migrateStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  if (isExclusive(address))
    throw new Error('the lmdb store is created when it is first opened; --store must be a postgres:// address')
  requirePostgres(address)
  const { migratePostgresStore } = await import('./postgres/open.js')
  return migratePostgresStore(address)
}

function requirePostgres(address: string): void {
  if (!isPostgresAddress(address))
    throw new Error(`the store is ${JSON.stringify(redactAddress(address))}; it must be lmdb or postgres://…`)
}
