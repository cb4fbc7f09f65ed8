/**
 * The migration that adds the log: what is there stays, nothing of it is logged, every change from then on is, and the
 * store gets a number that identifies it.
 */

import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import { migratePostgresStore } from '../../dist/store/postgres/open.js'
import { only } from '../support/elements.js'
import { readLog } from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, findingsOf, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const value = Buffer.from('1')

async function storeId(address: string): Promise<number> {
  const row = only(await execute(address, `select value from topicd.meta where name = 'store_id'`))
  return Number(row.value)
}

await t.test('a store of schema 2 is migrated with its data', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openStore(address, { directory: t.testdir() })
  t.teardown(() => store.close())
  for (const topic of ['a', 'b', 'ahead']) await single.addAndSet(store, creation(topic), value)
  // The schema as the program before left it, and a topic that was changed while the clock was ahead.
  await execute(
    address,
    `drop table topicd.changes;
     drop index topicd.topics_of_type, topicd.topics_by_due;
     create index topics_due on topicd.topics (due) where due is not null;
     create index topics_by_type on topicd.topics (type, key);
     delete from topicd.meta where name = 'store_id';
     update topicd.meta set value = 2 where name in ('schema_version', 'oldest_program');
     update topicd.topics set version = version + 3600000 * 1024::bigint where item like '%"ahead"%'`,
  )
  const topics = () => execute(address, 'select * from topicd.topics order by key')
  const before = await topics()
  await execute(address, 'alter table topicd.topics rename column generation to life')
  await Promise.all([migratePostgresStore(address), migratePostgresStore(address)])
  t.strictSame(await topics(), before, 'no topic is changed')
  const versions = await execute(
    address,
    `select name, value from topicd.meta where name in ('schema_version', 'oldest_program')`,
  )
  t.strictSame(
    versions.map(({ value }) => Number(value)),
    [5, 5],
  )
  const indexes = await execute(
    address,
    `select indexname from pg_indexes where tablename = 'topics' order by indexname`,
  )
  t.strictSame(
    indexes.map(({ indexname }) => indexname),
    ['topics_by_due', 'topics_of_type', 'topics_pkey'],
    'the indexes are replaced',
  )
  const log = await readLog(address)
  t.equal(log.length, 64)
  t.ok(
    log.every(({ n, paths }) => n === 0n && paths.length === 0),
    'each lane begins with a row without keys',
  )

  const findings = await findingsOf(store)
  t.strictSame(findings, [])
  await single.set(store, creation('ahead').path, 'json', value)
  t.strictSame(
    (await readLog(address)).flatMap(({ paths }) => paths),
    ['ahead'],
    'changes are logged from then on',
  )

  const id = await storeId(address)
  await execute(address, `update topicd.meta set value = 2 where name = 'schema_version'`)
  await migratePostgresStore(address)
  t.equal(await storeId(address), id, 'a migration that is repeated leaves the number')
  t.equal((await readLog(address)).length, 65, 'and the log')
})
