/**
 * Versions of topics in PostgreSQL: every change gets a greater version than all before it, regardless of the engine's clock.
 * postgres/schema tests topics from before there were versions.
 */
import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, path, single, versionShown } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = (text: string): Buffer => Buffer.from(text)

/** The exact version in the database. */
async function storedVersion(address: string, topic: string): Promise<bigint> {
  const rows = await execute(address, `select version from topicd.topics where item like '{"path":"${topic}"%'`)
  return BigInt(String(rows[0]?.version))
}

/** Sets all versions, as if the engine's clock had shown this time at the last commit. */
async function setVersions(address: string, version: bigint): Promise<void> {
  await execute(
    address,
    `delete from topicd.log where version < (select max(version) from topicd.log);
     update topicd.log set version = ${version};
     update topicd.topics set version = ${version}`,
  )
}

await t.test('each change gets a greater version even if a clock was ahead', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openStore(address, { directory: t.testdir() })
  t.teardown(() => store.close())
  const set = { kind: 'set', path: path('a'), type: 'json', valueText: value('1') } as const
  const note = { note: 'x' }
  /** Every way to change a topic. */
  const changes: Readonly<Record<string, () => Promise<unknown>>> = {
    'one set': () => store.write([set]),
    'many sets': () => Promise.all([store.write([set]), store.write([{ ...set, path: path('b') }])]),
    addAndSet: () => single.addAndSet(store, creation('a', 'json', note), value('2')),
    'many addAndSets': () =>
      Promise.all(['a', 'b'].map((topic) => single.addAndSet(store, creation(topic, 'json', note), value('3')))),
    'addAndSet of some properties': () => single.addAndSet(store, creation('a', 'json', { more: 'y' }), value('4')),
    'a constraint': () => store.write([{ ...set, constraint: { kind: 'value', text: value('4') } }]),
    'a batch': () => store.write([set, { ...set, path: path('b') }]),
    'a removal and a creation in a batch': () =>
      store.write([
        { kind: 'remove', path: path('a'), valueText: undefined },
        { kind: 'add', ...creation('a', 'json', note), valueText: undefined },
      ]),
  }
  for (const topic of ['a', 'b']) await single.add(store, creation(topic, 'json', { ...note, more: 'y' }))
  const created = await versionShown(store, 'a')
  t.ok(Math.abs(created / 1024 - Date.now()) < 60_000, 'a new topic has the version of the clock')
  const aheadVersion = 2n ** 52n + 12_345n
  for (const [name, change] of Object.entries(changes)) {
    await setVersions(address, aheadVersion)
    await change()
    const stored = await storedVersion(address, 'a')
    t.ok(stored > aheadVersion && stored <= aheadVersion + 2n, `${name} continues from the last version`)
    t.equal(BigInt(await versionShown(store, 'a')), stored, 'a fetch shows the exact version')
    await setVersions(address, 5n)
    if (name === 'a constraint') await single.set(store, path('a'), 'json', value('4'))
    await change()
    t.ok((await versionShown(store, 'a')) >= created, `${name} takes the version of the clock`)
  }
  const exact = 2n ** 53n - 2n
  await setVersions(address, exact)
  const wanted = (version: bigint) =>
    store.write([{ ...set, constraint: { kind: 'version', version: Number(version) } }])
  t.match(await wanted(exact - 1n), { refusal: 'unsatisfied_constraint' })
  t.match(await wanted(exact + 1n), { refusal: 'unsatisfied_constraint' })
  t.strictSame(await wanted(exact), ['set'], 'the largest versions are compared exactly')
})
