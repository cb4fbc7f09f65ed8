/**
 * `topicd migrate` creates the schema once, however often it runs, even concurrently. Without the schema, or with one
 * of another version, nothing starts, and the message says what to do.
 */
import { join } from 'node:path'
import t from 'tap'
import { migratePostgresStore, openPostgresStore } from '../../dist/store/postgres/open.js'
import { runCommand } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'

const engine = await postgres()

t.test('an address of another kind is refused', async (t) => {
  const unknown = await runCommand(['migrate', '--store', 'mysql://x'])
  t.match([unknown.code, unknown.stderr], [2, /it must be lmdb or postgres:\/\//])
  const lmdb = await runCommand(['migrate', '--store', 'lmdb'])
  t.match([lmdb.code, lmdb.stderr], [2, /^topicd: --store is lmdb, which needs no migration/])
})

await t.test(
  'a database with other schemas',
  { skip: engine === undefined && skipReason, timeout: 600_000 },
  async (t) => {
    const store = (await engine?.database('bare')) ?? ''
    const data = join(t.testdir(), 'db')
    const opened = async (): Promise<void> => (await openPostgresStore(store)).close()

    await t.test('without a schema nothing starts', async (t) => {
      const serve = ['serve', '--port', '0', '--admin-port', '0', '--workers', '1']
      for (const command of [serve, ['check']]) {
        const { code, stderr } = await runCommand([...command, '--store', store, '--data', data])
        t.not(code, 0, stderr)
        t.match(stderr, /there is no topicd schema in the store: run "topicd migrate"/, 'it says what to run')
      }
    })

    await t.test('migrations that run concurrently or again create one schema', async (t) => {
      await Promise.all(Array.from({ length: 3 }, () => migratePostgresStore(store)))
      const again = await runCommand(['migrate', '--store', store])
      t.strictSame(again, { code: 0, stdout: 'the schema already has version 5\n', stderr: '' })
      await opened()
    })

    await t.test('a schema of another version is refused, unless it allows this program', async (t) => {
      const newer = { message: /schema has version 6, but this topicd supports 5: install the newer topicd/ }
      await execute(store, `update topicd.meta set value = 6 where name in ('schema_version', 'oldest_program')`)
      await t.rejects(opened(), newer)
      await t.rejects(migratePostgresStore(store), newer)
      await execute(store, `delete from topicd.meta where name = 'oldest_program'`)
      await t.rejects(opened(), newer, 'a later one without its oldest program')
      await execute(store, `insert into topicd.meta values ('oldest_program', 5)`)
      await opened()
      t.match(await migratePostgresStore(store), { to: 6 }, 'one that allows this program is left unchanged')
      await execute(store, `update topicd.meta set value = 0 where name = 'schema_version'`)
      await t.rejects(opened(), { message: /run "topicd migrate"/ }, 'an unfinished one')
      await migratePostgresStore(store)
      await opened()
    })

    await t.test('a database that cannot hold every text is refused', async (t) => {
      const name = `${/\/([^/?]+)(\?|$)/.exec(store)?.[1]}_latin`
      await execute(store, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
      t.teardown(() => execute(store, `drop database ${name} with (force)`))
      const latin = store.replace(/\/[^/?]+(\?|$)/, `/${name}$1`)
      await migratePostgresStore(latin)
      await t.rejects(openPostgresStore(latin), { message: /the database has the encoding LATIN1, not UTF8/ })
    })
  },
)
