/**
 * The stores that the service can use. Tests have the same expectations of each store.
 */
import type { Test } from 'tap'
import { onlyStore, type StoreKind } from '../test-process.js'
import { postgres, skipReason } from './postgres.js'

/** An address as for `--store`. */
export type StoreAddress = string

/** Runs the same tests over each store, with a fresh store for each call; without PostgreSQL, its half is skipped with a reason. */
export async function eachStore(t: Test, expectations: (t: Test, store: StoreAddress) => Promise<void>): Promise<void> {
  await eachKind(t, async (t, _kind, makeStore) => expectations(t, await makeStore()))
}

/** Like `eachStore`, for tests that create a fresh store only when they need one. */
export async function eachKind(
  t: Test,
  expectations: (t: Test, kind: StoreKind, makeStore: () => Promise<StoreAddress>) => Promise<void>,
): Promise<void> {
  const only = process.env[onlyStore]
  if (only !== 'PostgreSQL') await t.test('over lmdb', (t) => expectations(t, 'lmdb', async () => 'lmdb'))
  if (only === 'lmdb') return
  const server = await postgres()
  const skip = server === undefined ? skipReason : false
  await t.test('over PostgreSQL', { skip }, (t) =>
    expectations(t, 'PostgreSQL', async () => (await server?.database()) ?? ''),
  )
}
