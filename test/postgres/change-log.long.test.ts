/**
 * The log on PostgreSQL: each kind of write logs exactly the topics that it changed, once, with a version that is at least
 * theirs; both are committed or neither is.
 */

import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openStore } from '../../dist/store/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { type LoggedChange, readLog } from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, path, planned, single, waiting } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = Buffer.from('1')
const note = { note: 'x' }

const set = (topic: string): WriteOperation => ({ kind: 'set', path: path(topic), type: 'json', valueText: value })
const add = (topic: string): WriteOperation => ({ kind: 'add', ...creation(topic), valueText: undefined })
const remove = (topic: string): WriteOperation => ({ kind: 'remove', path: path(topic), valueText: undefined })
const addAndSet = (store: TopicStore, topic: string, properties = {}) =>
  single.addAndSet(store, creation(topic, 'json', properties), value)

async function open(t: Test): Promise<{ readonly address: string; readonly store: TopicStore }> {
  const address = (await engine?.database()) ?? ''
  const store = await openStore(address, { directory: t.testdir() })
  t.teardown(() => store.close())
  return { address, store }
}

/** A reader of what was logged since its last call: the paths of each row, sorted. */
async function follow(address: string): Promise<() => Promise<readonly LoggedChange[]>> {
  const seen = new Set<string>()
  const name = ({ lane, n }: LoggedChange) => `${lane} ${n}`
  for (const row of await readLog(address)) seen.add(name(row))
  return async () => {
    const rows = (await readLog(address)).filter((row) => !seen.has(name(row)))
    for (const row of rows) seen.add(name(row))
    return rows
  }
}

const pathsOf = (rows: readonly LoggedChange[]): string[][] => rows.map(({ paths }) => [...paths].sort())

await t.test('each kind of write logs what it changed, once', { skip, timeout: 600_000 }, async (t) => {
  const { address, store } = await open(t)
  const news = await follow(address)
  /** Each kind, and the topics that it changes: mostly all by one row. */
  const kinds: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
    ['add', () => store.write([add('a')]), ['a']],
    ['add of one that is there', () => store.write([add('a')]), []],
    ['many adds', () => Promise.all(['b', 'c', 'b'].map((topic) => store.write([add(topic)]))), ['b', 'c']],
    ['set', () => store.write([set('a')]), ['a']],
    ['set of none', () => store.write([set('none')]), []],
    ['many sets', () => Promise.all(['c', 'b', 'c', 'none'].map((topic) => store.write([set(topic)]))), ['b', 'c']],
    ['addAndSet of a new one', () => addAndSet(store, 'd', note), ['d']],
    ['addAndSet', () => addAndSet(store, 'd', note), ['d']],
    ['many times addAndSet', () => Promise.all(['e', 'a'].map((topic) => addAndSet(store, topic))), ['a', 'e']],
    [
      'many of the same properties',
      () => Promise.all(['d', 'f'].map((topic) => addAndSet(store, topic, note))),
      ['d', 'f'],
    ],
    ['a constraint', () => store.write([{ ...set('a'), constraint: { kind: 'value', text: value } }]), ['a']],
    [
      'a constraint that does not hold',
      () => store.write([{ ...set('a'), constraint: { kind: 'value', text: Buffer.from('2') } }]),
      [],
    ],
    [
      'a batch',
      () => store.write([set('a'), add('g'), set('g'), remove('b'), add('h'), remove('h'), remove('none')]),
      ['a', 'b', 'g'],
    ],
    ['a removal and a creation', () => store.write([remove('a'), add('a')]), ['a']],
    ['a batch that is refused', () => store.write([set('a'), set('none')]), []],
    ['a batch that changes nothing', () => store.write([add('a'), remove('none')]), []],
    ['remove', () => store.write([remove('a')]), ['a']],
    ['remove of none', () => store.write([remove('a')]), []],
  ]
  for (const [name, write, changed] of kinds) {
    await write()
    const rows = await news()
    t.strictSame(pathsOf(rows), changed.length === 0 ? [] : [changed], name)
    const later = await execute(
      address,
      `select 1 from topicd.topics t join topicd.changes c on t.key = any(c.keys)
       group by t.key, t.version having t.version > max(c.version)`,
    )
    t.strictSame(later, [], 'with a version that is not before theirs')
  }
  await store.removeMatches(planned('*[cde]'), waiting)
  t.strictSame(pathsOf(await news()).flat(), ['c', 'd', 'e'], 'removal by a selector, in steps')
  const left = await execute(
    address,
    'select count(*)::int as topics, count(distinct version)::int as versions from topicd.topics',
  )
  t.match(left, [{ topics: 2, versions: 2 }])
})

await t.test('addAndSet of other properties logs what it changed', { skip, timeout: 600_000 }, async (t) => {
  const { address, store } = await open(t)
  await addAndSet(store, 'a', { ...note, more: 'y' })
  const news = await follow(address)
  await addAndSet(store, 'a', note)
  t.strictSame(pathsOf(await news()), [['a']])
  t.equal(await addAndSet(store, 'a', { note: 'z' }), 'incompatible_properties')
  t.strictSame(await news(), [])
})

await t.test('batches that share a transaction share a row', { skip, timeout: 600_000 }, async (t) => {
  const { address, store } = await open(t)
  await store.write([add('a'), add('b')])
  const news = await follow(address)
  await Promise.all([
    store.write([set('a'), add('c')]),
    store.write([set('b'), set('none')]),
    store.write([set('a'), remove('c')]),
  ])
  t.strictSame(pathsOf(await news()), [['a']], 'without those that are refused, and each topic once')
})

await t.test('automatic removals are logged', { skip, timeout: 600_000 }, async (t) => {
  const { address, store } = await open(t)
  const past = 'when time after "Tue, 01 Jan 2019 00:00:00 GMT"'
  await addAndSet(store, 'others/a')
  await addAndSet(store, 'others/b')
  await addAndSet(store, 'due', { REMOVAL: past })
  await addAndSet(store, 'clause', { REMOVAL: `${past} remove "?others//"` })
  const news = await follow(address)
  const logged: string[] = []
  for (const end = Date.now() + 20_000; logged.length < 3 && Date.now() < end; ) {
    await store.removeDue(planSelector)
    logged.push(...(await news()).flatMap(({ paths }) => paths))
  }
  await store.removeDue(planSelector)
  logged.push(...(await news()).flatMap(({ paths }) => paths))
  t.strictSame(logged.sort(), ['due', 'others/a', 'others/b'], 'those of a clause, too, and nothing else')
})

await t.test('what cannot be logged is not changed', { skip, timeout: 600_000 }, async (t) => {
  const { address, store } = await open(t)
  await store.write([add('a'), add('b')])
  const version = () => execute(address, `select key, version from topicd.topics order by key`)
  const before = await version()
  await execute(
    address,
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
     create trigger refuse before insert on topicd.changes for each row execute function refuse()`,
  )
  for (const write of [[set('a')], [set('a'), set('b')], [remove('a')], [add('c')]])
    await t.rejects(store.write(write), { message: /planted/ })
  t.strictSame(await version(), before)
  await execute(address, 'drop trigger refuse on topicd.changes')
  t.strictSame(await store.write([set('a')]), ['set'])
})
