/**
 * `topicd migrate` creates the schema only once, even if it runs repeatedly or concurrently, and migrates a former schema with its data. If
 * the schema is missing or has another version, nothing starts, and the message names the remedy.
 */
import { join } from 'node:path'
import t from 'tap'
import { migratePostgresStore, openPostgresStore } from '../../dist/store/postgres/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { only } from '../support/elements.js'
import { runCommand } from '../support/service/server.js'
import { readLog } from '../support/stores/change-log.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, findingsOf, single, versionShown } from '../support/stores/store.js'

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: 600_000 }

t.test('an address of another kind of store is rejected', async (t) => {
  const unknown = await runCommand(['migrate', '--store', 'mysql://x'])
  t.match([unknown.code, unknown.stderr], [2, /it must be lmdb or postgres:\/\//])
  const lmdb = await runCommand(['migrate', '--store', 'lmdb'])
  t.match([lmdb.code, lmdb.stderr], [2, /^topicd: --store is lmdb, which needs no migration/])
})

await t.test('only a database with a supported schema is opened', options, async (t) => {
  const store = (await engine?.database('bare')) ?? ''
  const data = join(t.testdir(), 'db')
  const opened = async (): Promise<void> => (await openPostgresStore(store)).close()

  await t.test('neither the service nor a command starts without a schema', async (t) => {
    const serve = ['serve', '--port', '0', '--admin-port', '0', '--workers', '1']
    for (const command of [serve, ['check']]) {
      const { code, stderr } = await runCommand([...command, '--store', store, '--data', data])
      t.not(code, 0, stderr)
      t.match(stderr, /there is no topicd schema in the store: run "topicd migrate"/, 'the command is named')
    }
  })

  await t.test('concurrent and repeated migrations create one schema', async (t) => {
    await Promise.all(Array.from({ length: 3 }, () => migratePostgresStore(store)))
    const again = await runCommand(['migrate', '--store', store])
    t.strictSame(again, { code: 0, stdout: 'the schema already has version 6\n', stderr: '' })
    await opened()
  })

  await t.test('a schema of another version is rejected unless it allows this version of topicd', async (t) => {
    const newer = { message: /schema has version 7, but this topicd supports 6: install the newer topicd/ }
    await execute(store, `update topicd.meta set value = 7 where name in ('schema_version', 'oldest_program')`)
    await t.rejects(opened(), newer)
    await t.rejects(migratePostgresStore(store), newer)
    await execute(store, `delete from topicd.meta where name = 'oldest_program'`)
    await t.rejects(opened(), newer, 'a later schema without its oldest program')
    await execute(store, `insert into topicd.meta values ('oldest_program', 6)`)
    await opened()
    t.match(await migratePostgresStore(store), { to: 7 }, 'a later schema that allows this program is left unchanged')
    await execute(store, `update topicd.meta set value = 0 where name = 'schema_version'`)
    await t.rejects(opened(), { message: /run "topicd migrate"/ }, 'an unfinished schema')
    await migratePostgresStore(store)
    await opened()
  })

  await t.test('a database that cannot store every character is rejected', async (t) => {
    const name = `${/\/([^/?]+)(\?|$)/.exec(store)?.[1]}_latin`
    await execute(store, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
    t.teardown(() => execute(store, `drop database ${name} with (force)`))
    const latin = store.replace(/\/[^/?]+(\?|$)/, `/${name}$1`)
    await migratePostgresStore(latin)
    await t.rejects(openPostgresStore(latin), { message: /the database has the encoding LATIN1, not UTF8/ })
  })
})

/** Undoes the migration to the schema of version 1.0.0. */
const undoOrder = `
  drop index topicd.topics_of_type, topicd.topics_by_due;
  create index topics_due on topicd.topics (due) where due is not null;
  create index topics_by_type on topicd.topics (type, key);
  drop function topicd.commit, topicd.take_order;
  drop table topicd.log;
  delete from topicd.meta where name = 'order';
  create table topicd.changes (
    lane smallint, n bigint, version bigint not null, count int not null, total bigint not null, keys bytea[] not null,
    primary key (lane, n)
  );
  create index changes_by_version on topicd.changes (version asc);
  insert into topicd.changes (lane, n, version, count, total, keys)
  select lane, 0, (select max(version) from topicd.topics), 0, 0, '{}' from generate_series(0, 63) as l (lane);
  alter table topicd.topics add column retains boolean not null default true`

const value = Buffer.from('1')

async function metaOf(address: string): Promise<Record<string, number>> {
  const rows = await execute(address, 'select name, value from topicd.meta')
  return Object.fromEntries(rows.map(({ name, value }) => [name as string, Number(value)]))
}

await t.test('a store of 1.0.0 is migrated with its data, and an earlier store is rejected', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const withStore = async (work: (store: TopicStore) => Promise<void>): Promise<void> => {
    const store = await openPostgresStore(address)
    await work(store).finally(() => store.close())
  }
  await withStore(async (store) => {
    for (const topic of ['a', 'b', 'ahead'])
      await single.addAndSet(store, creation(topic, 'json', { note: 'x' }), value)
  })
  // A topic was changed while the clock was ahead.
  await execute(
    address,
    `update topicd.topics set version = version + 3600000 * 1024::bigint where item like '%"ahead"%';
       ${undoOrder};
       update topicd.meta set value = 3 where name in ('schema_version', 'oldest_program')`,
  )
  await t.rejects(migratePostgresStore(address), {
    message: /version 3, from a build before 1.0.0: export its topics/,
  })
  await execute(address, `update topicd.meta set value = 4 where name in ('schema_version', 'oldest_program')`)
  const { store_id: formerId } = await metaOf(address)
  await t.rejects(openPostgresStore(address), { message: /run "topicd migrate"/ })
  const file = () => execute(address, `select pg_relation_filenode('topicd.topics') as file`)
  const fileBefore = await file()
  await Promise.all([migratePostgresStore(address), migratePostgresStore(address)])
  t.strictSame(await file(), fileBefore, 'no row is rewritten')
  const meta = await metaOf(address)
  t.match(meta, { schema_version: 6, oldest_program: 6 })
  t.ok((meta.store_id ?? 0) > 0 && meta.store_id !== formerId, 'places in the former log are invalid in this one')
  const columns = await execute(
    address,
    `select column_name as name from information_schema.columns where table_schema = 'topicd' and table_name = 'topics'`,
  )
  t.strictSame(columns.map(({ name }) => name as string).sort(), [
    'created',
    'due',
    'generation',
    'item',
    'key',
    'properties',
    'type',
    'updated',
    'version',
  ])
  const indexes = await execute(
    address,
    `select indexname as name from pg_indexes where tablename = 'topics' order by indexname`,
  )
  t.strictSame(
    indexes.map(({ name }) => name),
    ['topics_by_due', 'topics_of_type', 'topics_pkey'],
  )
  const log = only(await readLog(address))
  t.match(log, { total: 0n, paths: [] }, 'the migration logs no change')
  await withStore(async (store) => {
    t.strictSame(await findingsOf(store), [])
    const versions = await Promise.all(['a', 'b', 'ahead'].map((topic) => versionShown(store, topic)))
    t.ok(Math.max(...versions) < Number(log.version))
    t.equal(await single.addAndSet(store, creation('a', 'json', { note: 'x' }), value), 'updated')
    t.ok((await versionShown(store, 'a')) > Number(log.version), 'a change gets a greater version')
  })
  const logged = await readLog(address)
  t.strictSame(logged.at(-1)?.paths, ['a'], 'later changes are logged')
  await execute(address, `update topicd.meta set value = 4 where name = 'schema_version'`)
  await migratePostgresStore(address)
  t.strictSame(await metaOf(address), meta, 'a repeated migration keeps the id')
  t.strictSame(await readLog(address), logged, 'a repeated migration keeps the log')
  await withStore(async (store) => void t.strictSame(await findingsOf(store), []))
})
