/**
 * The stores that the service can keep its topics in: the same claims are made of each.
 */
import type { Test } from 'tap'
import { postgres, skipReason } from './postgres.js'

/** An address as `--store` takes it. */
export type StoreAddress = string

/** Makes the same claims of each store, a fresh one for each; one that is not here is skipped, loudly. */
export async function eachStore(t: Test, claims: (t: Test, store: StoreAddress) => Promise<void>): Promise<void> {
  await t.test('over lmdb', (t) => claims(t, 'lmdb'))
  const server = await postgres()
  const skip = server === undefined ? skipReason : false
  await t.test('over PostgreSQL', { skip }, async (t) => claims(t, (await server?.database()) ?? ''))
}
