/**
 * Versions of topics in LMDB: every change gets a new version, greater than all before it, regardless of the clock. A check finds
 * impossible versions.
 */

import { join } from 'node:path'
import t from 'tap'
import { logPositionOf } from '../../dist/store/lmdb/environment/change-record.js'
import type { Environment } from '../../dist/store/lmdb/environment/environment.js'
import { openLmdbStore } from '../../dist/store/lmdb/open.js'
import { inside } from '../support/stores/environment.js'
import { creation, findingsIn, path, single } from '../support/stores/store.js'

/** Later than the machine's clock, so that the store's own times do not matter. */
const startMs = Date.parse('2035-01-01T00:00:00Z')

function record(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes
}

function lastVersion({ changes }: Environment): number | undefined {
  return [...changes.getKeys({ reverse: true, limit: 1 })].map(logPositionOf)[0]?.version
}

const versionOf = ({ items }: Environment, topic: string): number | undefined =>
  items.json.getEntry(path(topic))?.version

/** Runs `work` with a store whose clock can be set. */
async function withStore(
  directory: string,
  work: (store: ReturnType<typeof openLmdbStore>, clock: { wallMs: number }) => Promise<void>,
): Promise<void> {
  const clock = { wallMs: startMs }
  const store = openLmdbStore({ directory, clock: () => ({ wallMs: clock.wallMs, steadyMs: clock.wallMs, boot: 'b' }) })
  try {
    await work(store, clock)
  } finally {
    await store.close()
  }
}

/** Empties the log, as if a program without a log had written the store. Call it within a transaction. */
function forgetLog({ changes }: Environment): void {
  for (const key of [...changes.getKeys({})]) changes.removeSync(key)
}

await t.test('every change gets a greater version than all changes before it', async (t) => {
  const directory = join(t.testdir(), 'db')
  const value = Buffer.from('1')
  await withStore(directory, async (store, clock) => {
    await single.add(store, creation(path('a'), 'json'))
    await single.add(store, creation(path('b'), 'json', { DONT_RETAIN_VALUE: 'true' }))
    clock.wallMs -= 3_600_000
    await store.write([{ kind: 'set', path: path('a'), type: 'json', valueText: value }])
    await store.write([{ kind: 'set', path: path('b'), type: 'json', valueText: value }])
  })
  const first = startMs * 1024
  await inside(directory, (environment) => {
    t.equal(versionOf(environment, 'a'), first + 2, 'the clock stepped back')
    t.equal(versionOf(environment, 'b'), first + 3, 'the value is not retained')
    t.equal(lastVersion(environment), first + 3)
  })
  await withStore(directory, async (store, clock) => {
    clock.wallMs += 1
    await store.write([
      { kind: 'set', path: path('a'), type: 'json', valueText: value },
      { kind: 'set', path: path('b'), type: 'json', valueText: value },
    ])
    await single.remove(store, path('a'))
    await single.remove(store, path('a'))
    await single.add(store, creation(path('a'), 'json'))
  })
  await inside(directory, (environment) => {
    t.equal(versionOf(environment, 'b'), first + 1024 + 1, 'each topic of a transaction has its own version')
    t.equal(versionOf(environment, 'a'), first + 1024 + 3, 'a removal gets a version; a removal of nothing gets none')
  })
  t.strictSame(await findingsIn(directory), [])
})

await t.test('a check finds impossible versions', async (t) => {
  const directory = join(t.testdir(), 'db')
  await withStore(directory, async (store) => {
    await single.add(store, creation(path('a'), 'json'))
  })
  const last = startMs * 1024
  const plant = (version: number): Promise<void> =>
    inside(directory, ({ items, root }) => {
      const item = Buffer.from(items.json.get(path('a')) as Buffer)
      root.transactionSync(() => void items.json.put(path('a'), item, version))
    })
  for (const [version, finding] of [
    [last + 1, `item at "a": its version is ${last + 1}, but the last one is ${last}`],
    [1.5, 'item at "a": its version is 1.5, not a positive integer'],
  ] as const) {
    await plant(version)
    t.strictSame(await findingsIn(directory), [finding])
  }
  await plant(last)
  t.strictSame(await findingsIn(directory), [])
  await inside(directory, (environment) =>
    environment.root.transactionSync(() => {
      forgetLog(environment)
      environment.changes.putSync(Buffer.concat([record(1), record(0)]), Buffer.alloc(0))
    }),
  )
  t.match(await findingsIn(directory), [`item at "a": its version is ${last}, but the last one is 1`])
})
