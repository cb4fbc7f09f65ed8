/**
 * Expectations that are checked over a service of each store. The test files of one process (support/run-together.ts) share these services,
 * because starting them costs more than checking most expectations. The content of the expectations is not defined here.
 */
import { strict as assert } from 'node:assert'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eachKind, eachStore, type StoreAddress } from '../stores/stores.js'
import type { StoreKind } from '../test-process.js'
import { Server, type StartOptions, startServer } from './server.js'

type Expectations = (t: Test, server: Server) => Promise<void>

/** The services that the files of this process share; undefined if the files do not share services. */
let shared: Map<StoreKind, Server> | undefined

/** Workers of a shared service: two, so that they take turns. */
const workersShared = 2

/** The name that a service gives the key that it creates at its first start. */
const firstKeyName = 'first'

/** Runs the same tests over a service of each store, unless the options name one. */
export function overStores(t: Test, expectations: Expectations, options: StartOptions = {}): Promise<void> {
  const { store, ...others } = options
  if (shared === undefined || Object.keys(others).length > 0) return overEach(t, expectations, options, [workersShared])
  if (store === 'lmdb') return sharedServer('lmdb', async () => 'lmdb').then((server) => expectations(t, server))
  return eachKind(t, async (t, kind, makeStore) => expectations(t, await sharedServer(kind, makeStore)))
}

/** Like `overStores`, with one worker and with several: for effects of workers on each other. */
export function overWorkers(t: Test, expectations: Expectations, options: StartOptions = {}): Promise<void> {
  return overEach(t, expectations, options, [1, 3])
}

async function overEach(
  t: Test,
  expectations: Expectations,
  options: StartOptions,
  counts: readonly number[],
): Promise<void> {
  const over = async (t: Test, store: StoreAddress): Promise<void> => {
    // On another engine all processes are equal, so a run with fewer workers would add nothing.
    for (const workers of store === 'lmdb' ? counts : counts.slice(-1)) {
      await t.test(`over ${workers} ${workers === 1 ? 'worker' : 'workers'}`, async (t) => {
        await expectations(t, await startServer(t, { ...options, workers, store }))
      })
    }
  }
  await (options.store === undefined ? eachStore(t, over) : over(t, options.store))
}

/** Makes `overStores` give each file the same services, emptied. */
export function shareServices(): void {
  shared = new Map()
}

/** Stops the shared services; as for every service, their exit status and data are checked. */
export async function endSharedServices(t: Test): Promise<void> {
  for (const [kind, server] of shared ?? []) {
    await t.test(`the service over ${kind} exits cleanly`, () => server.tearDown())
    rmSync(server.dataDir, { recursive: true, force: true })
  }
}

async function sharedServer(kind: StoreKind, makeStore: () => Promise<StoreAddress>): Promise<Server> {
  const known = shared?.get(kind)
  if (known !== undefined) {
    await empty(known)
    return known
  }
  // Use neither a fixture nor a teardown of the root test: other files create fixtures, and the root test would end early.
  const directory = mkdtempSync(join(tmpdir(), 'topicd-shared-'))
  const server = new Server(t, directory, { workers: workersShared, store: await makeStore() })
  shared?.set(kind, server)
  await server.listening()
  return server
}

/** Restores the initial state of a service, with only its first key. */
async function empty(server: Server): Promise<void> {
  const { status, text } = await server.post('remove', { selector: '?.*//' })
  assert.equal(status, 200, text)
  const keys = await server.request({ command: 'listKeys' })
  for (const { name } of keys.filter(({ name }) => name !== firstKeyName))
    await server.request({ command: 'revokeKey', name })
  server.log.length = 0
}
