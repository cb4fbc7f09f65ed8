/**
 * The stores that the service can use. Tests make the same claims about each.
 */
import type { Test } from 'tap'
import { postgres, skipReason } from './postgres.js'

/** An address as for `--store`. */
export type StoreAddress = string

/**
 * Runs the same tests over each store, a fresh one each time; without PostgreSQL, its half is skipped with a reason.
 */
export async function eachStore(t: Test, claims: (t: Test, store: StoreAddress) => Promise<void>): Promise<void> {
  await t.test('over lmdb', (t) => claims(t, 'lmdb'))
  const server = await postgres()
  const skip = server === undefined ? skipReason : false
  await t.test('over PostgreSQL', { skip }, async (t) => claims(t, (await server?.database()) ?? ''))
}
