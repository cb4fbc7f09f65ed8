/**
 * Versions of topics in PostgreSQL: the migration gives those that are there the version of its moment and rewrites no
 * row, and every change gives a topic a greater version than it had, whatever the engine's clock does.
 */
import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import { runCommand } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, path, single, versionShown } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = (text: string): Buffer => Buffer.from(text)

/** What the engine's own reader says, exactly. */
async function storedVersion(address: string, topic: string): Promise<bigint> {
  const rows = await execute(address, `select version from topicd.topics where item like '{"path":"${topic}"%'`)
  return BigInt(String(rows[0]?.version))
}

await t.test(
  'topics from before the migration have the version of its moment',
  { skip, timeout: 600_000 },
  async (t) => {
    const address = (await engine?.database()) ?? ''
    const migrate = () => runCommand(['migrate', '--store', address])
    t.equal((await migrate()).code, 0)
    const store = await openStore(address, { directory: t.testdir() })
    t.teardown(() => store.close())
    await single.add(store, creation('a'))
    await single.addAndSet(store, creation('b'), value('1'))
    // The schema as the program before left it.
    await execute(
      address,
      `alter table topicd.topics drop column version;
     alter table topicd.topics rename column generation to life;
     update topicd.meta set value = 1 where name in ('schema_version', 'oldest_program')`,
    )
    const file = () => execute(address, `select pg_relation_filenode('topicd.topics') as file`)
    const before = await file()
    const startMs = Date.now()
    for (const { code, stderr } of await Promise.all([migrate(), migrate()])) t.equal(code, 0, `it succeeds ${stderr}`)
    t.strictSame(await file(), before, 'no row is rewritten')
    const migrated = await versionShown(store, 'a')
    t.ok(migrated >= startMs * 1024 && migrated <= Date.now() * 1024, 'the version is that of the moment')
    t.equal(await versionShown(store, 'b'), migrated, 'the same for all')
    t.equal((await migrate()).code, 0)
    t.equal(await versionShown(store, 'a'), migrated, 'and stays')
    const set = { kind: 'set', path: path('b'), type: 'json', valueText: value('2') } as const
    const held = await store.write([{ ...set, constraint: { kind: 'version', version: migrated } }])
    t.strictSame(held, ['set'], 'a constraint can name it')
    t.ok((await versionShown(store, 'b')) > migrated, 'a change has a greater one')
  },
)

await t.test(
  'every change has a greater version, though the clock was ahead',
  { skip, timeout: 600_000 },
  async (t) => {
    const address = (await engine?.database()) ?? ''
    const store = await openStore(address, { directory: t.testdir() })
    t.teardown(() => store.close())
    const set = { kind: 'set', path: path('a'), type: 'json', valueText: value('1') } as const
    const note = { note: 'x' }
    /** Every way to change a topic without creating it: each has a statement of its own. */
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      'one set': () => store.write([set]),
      'many sets': () => Promise.all([store.write([set]), store.write([{ ...set, path: path('b') }])]),
      addAndSet: () => single.addAndSet(store, creation('a', 'json', note), value('2')),
      'many times addAndSet': () =>
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
      await execute(address, `update topicd.topics set version = ${aheadVersion}`)
      await change()
      t.equal(await storedVersion(address, 'a'), aheadVersion + 1n, `${name} counts on`)
      t.equal(BigInt(await versionShown(store, 'a')), aheadVersion + 1n, 'a fetch shows it exactly')
      await execute(address, 'update topicd.topics set version = 5')
      if (name === 'a constraint') await single.set(store, path('a'), 'json', value('4'))
      await change()
      t.ok((await versionShown(store, 'a')) >= created, `${name} takes that of the clock`)
    }
    const exact = 2n ** 53n - 2n
    await execute(address, `update topicd.topics set version = ${exact}`)
    const wanted = (version: bigint) =>
      store.write([{ ...set, constraint: { kind: 'version', version: Number(version) } }])
    t.match(await wanted(exact - 1n), { refusal: 'unsatisfied_constraint' })
    t.match(await wanted(exact + 1n), { refusal: 'unsatisfied_constraint' })
    t.strictSame(await wanted(exact), ['set'], 'the largest versions are compared exactly')
  },
)

await t.test(
  'a topic that is created again has a greater version than before',
  { skip, timeout: 600_000 },
  async (t) => {
    const address = (await engine?.database()) ?? ''
    const store = await openStore(address, { directory: t.testdir() })
    t.teardown(() => store.close())
    let last = 0
    for (let count = 0; count < 100; count++) {
      await single.add(store, creation('a'))
      const version = await versionShown(store, 'a')
      t.ok(version > last)
      last = version
      await single.remove(store, path('a'))
    }
  },
)
