/**
 * Which engine keeps the topics: the one place that knows them all.
 */
import { isExclusive, isPostgresAddress, redactAddress } from './address.js'
import { type LmdbOptions, openLmdbStore } from './lmdb/open.js'
import type { PostgresOptions } from './postgres/open.js'
import type { TopicStore } from './store.js'

/**
 * Opens the store that `address` names: `lmdb` (in the data directory) or a postgres:// address. The code of an engine that
 * is not wanted is not loaded, but for lmdb's, since its opening must take milliseconds.
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
 * Makes, or brings up to date, what the store at `address` needs before it is opened.
 *
 * @returns the versions before and after
 * @throws Error when that cannot be done, or the store needs nothing
 */
export async function migrateStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  if (isExclusive(address))
    throw new Error('the lmdb store makes itself when it is first opened; --store must be a postgres:// address')
  requirePostgres(address)
  const { migratePostgresStore } = await import('./postgres/open.js')
  return migratePostgresStore(address)
}

function requirePostgres(address: string): void {
  if (!isPostgresAddress(address))
    throw new Error(`the store is ${JSON.stringify(redactAddress(address))}; it must be lmdb or postgres://…`)
}
