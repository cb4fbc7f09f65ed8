/** Chooses the engine from the store's address. No other file depends on more than one engine. */

import type { Socket } from 'node:net'
import { isExclusive, isPostgresAddress, redactAddress } from '../settings/address.js'
import { type LmdbOptions, openLmdbReader, openLmdbStore } from './lmdb/open.js'
import type { PostgresOptions } from './postgres/open.js'
import type { TopicStore } from './store.js'

/**
 * Opens the store that `address` names: `lmdb` (in the data directory) or a postgres:// address. The PostgreSQL engine's code is
 * loaded on demand. LMDB's code is always loaded, because opening that store must take milliseconds.
 *
 * @param connectToWriter opens a connection to the writer of an lmdb store; undefined in a process that writes directly
 * @throws Error if the store cannot be opened
 */
export async function openStore(
  address: string,
  options: LmdbOptions & PostgresOptions,
  connectToWriter?: () => Socket,
): Promise<TopicStore> {
  if (isExclusive(address)) {
    return connectToWriter === undefined ? openLmdbStore(options) : openLmdbReader(options, connectToWriter)
  }
  requirePostgres(address)
  const { openPostgresStore } = await import('./postgres/open.js')
  return openPostgresStore(address, options)
}

/** Creates or upgrades the schema that opening needs. @throws Error if that fails, or for lmdb, which needs none */
export async function migrateStore(address: string): Promise<{ readonly from: number; readonly to: number }> {
  if (isExclusive(address)) throw new Error('the lmdb store needs no migration; --store must be a postgres:// address')
  requirePostgres(address)
  const { migratePostgresStore } = await import('./postgres/open.js')
  return migratePostgresStore(address)
}

function requirePostgres(address: string): void {
  if (!isPostgresAddress(address))
    throw new Error(`the store is ${JSON.stringify(redactAddress(address))}; it must be lmdb or postgres://…`)
}
