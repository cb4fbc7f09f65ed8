/**
 * Places in the log on PostgreSQL, page by page: everything after a place comes once, whichever lanes it is in; and a place
 * is refused whose rows were trimmed, or lost in a fail-over, even where others have their numbers by then.
 */
import t, { type Test } from 'tap'
import type { LoggedChanges, LogPlace } from '../../dist/store/changes.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { pathOfKeyText } from '../../dist/topics/key.js'
import { seededRandom } from '../support/random.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = Buffer.from('1')

const endOf = (store: TopicStore): Promise<LogPlace> => Promise.resolve(store.inSnapshot((log) => log.end()))

const after = (store: TopicStore, place: LogPlace, keysMax: number): Promise<LoggedChanges | 'gone'> =>
  Promise.resolve(store.inSnapshot((log) => log.changesAfter(place, keysMax, (changes) => changes)))

/** The paths that changed after a place, read in parts. */
async function pathsAfter(t: Test, store: TopicStore, from: LogPlace, take: () => number): Promise<readonly string[]> {
  const paths: string[] = []
  for (let place = from; ; ) {
    const changes = await after(store, place, 10)
    if (changes === 'gone') throw new Error('it has gone')
    const taken = Math.min(take(), changes.keys.length)
    paths.push(...changes.keys.slice(0, taken).map(pathOfKeyText))
    place = changes.placeAt(taken)
    if (!changes.isAll || taken < changes.keys.length) continue
    t.equal(store.isAfter(place, await endOf(store)), true, 'the end has been reached')
    return paths
  }
}

async function withStores(
  t: Test,
  work: (address: string, stores: readonly TopicStore[]) => Promise<void>,
): Promise<void> {
  const address = (await engine?.database()) ?? ''
  const stores = [
    await openStore(address, { directory: t.testdir() }),
    await openStore(address, { directory: t.testdir() }),
  ]
  try {
    await work(address, stores)
  } finally {
    for (const store of stores) await store.close()
  }
}

t.test('changes after a place are read once, in parts of any size', { skip, timeout: 600_000 }, async (t) => {
  const random = seededRandom(t)
  await withStores(t, async (_, stores) => {
    const [first] = stores as [TopicStore]
    const start = await endOf(first)
    const expected: string[] = []
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const store = stores[i % 2] as TopicStore
        const paths = Array.from({ length: 1 + random.below(30) }, (_, j) => `p/${i}/${j}`)
        expected.push(...paths)
        if (i % 3 === 0) for (const path of paths) await single.addAndSet(store, creation(path), value)
        else await store.write(paths.map((path) => ({ kind: 'addAndSet', ...creation(path), valueText: value })))
      }),
    )
    expected.sort()
    for (const take of [() => Infinity, () => 1, () => 1 + random.below(40)])
      t.strictSame([...(await pathsAfter(t, first, start, take))].sort(), expected)
    const middle = await after(first, start, 10)
    if (middle === 'gone') throw new Error('it has gone')
    t.equal(first.isAfter(await endOf(first), middle.placeAt(3)), true)
    t.equal(first.isAfter(start, await endOf(first)), false)
  })
})

t.test('places after lost or trimmed rows are refused', { skip, timeout: 600_000 }, async (t) => {
  await withStores(t, async (address, [store]) => {
    if (store === undefined) throw new Error('there is no store')
    for (let i = 0; i < 5; i++) await single.addAndSet(store, creation('a'), value)
    const before = await endOf(store)
    await single.addAndSet(store, creation('b'), value)
    const lost = await endOf(store)
    const used = '(select lane from topicd.changes order by version desc limit 1)'
    await execute(
      address,
      `delete from topicd.changes where lane = ${used} and n = (select max(n) from topicd.changes where lane = ${used})`,
    )
    t.equal(await after(store, lost, 10), 'gone', 'the row is missing')
    t.not(await after(store, before, 10), 'gone', 'what was there before is known')
    await single.addAndSet(store, creation('c'), value)
    t.equal(await after(store, lost, 10), 'gone', 'another row has its number')
    const early = await endOf(store)
    for (let i = 0; i < 5; i++) await single.addAndSet(store, creation('a'), value)
    await execute(
      address,
      `delete from topicd.changes c where n < (select max(n) from topicd.changes l where l.lane = c.lane) - 1`,
    )
    t.equal(await after(store, early, 10), 'gone', 'its rows were trimmed')
    t.equal(await after(store, Buffer.alloc(3), 10), 'gone')
    t.equal(await after(store, Buffer.alloc(200, 255), 10), 'gone')
  })
})

t.test('a place within a lost commit is refused', { skip, timeout: 600_000 }, async (t) => {
  await withStores(t, async (address, [store]) => {
    if (store === undefined) throw new Error('there is no store')
    const write = (name: string) =>
      store.write(['1', '2', '3'].map((i) => ({ kind: 'addAndSet', ...creation(`${name}/${i}`), valueText: value })))
    await write('before')
    const before = await endOf(store)
    await write('lost')
    const lost = await after(store, before, 10)
    if (lost === 'gone') throw new Error('it has gone')
    const within = lost.placeAt(2)
    const pathsOf = async (place: LogPlace) => {
      const changes = await after(store, place, 10)
      return changes === 'gone' ? changes : changes.keys.map(pathOfKeyText)
    }
    t.strictSame(await pathsOf(within), ['lost/3'])
    t.strictSame(await pathsOf(within.subarray(0, -4)), ['lost/1', 'lost/2', 'lost/3'], 'a place of version 1.0.0')
    await execute(address, 'delete from topicd.changes where version = (select max(version) from topicd.changes)')
    t.equal(await pathsOf(within), 'gone', 'the commit is missing')
    t.strictSame(await pathsOf(before), [], 'the place before it is known')
    await write('after')
    t.equal(await pathsOf(within), 'gone', 'another commit has its number')
    t.strictSame(await pathsOf(before), ['after/1', 'after/2', 'after/3'])
  })
})
