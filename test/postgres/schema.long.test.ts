/**
 * `topicd migrate` creates the schema once, however often it runs, even concurrently. Without the schema, or with one
 * of another version, nothing starts, and the message says what to do.
 */
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'

const engine = await postgres()

await t.test(
  'a store needs a schema that this program knows',
  { skip: engine === undefined && skipReason, timeout: 600_000 },
  async (t) => {
    const store = (await engine?.database('bare')) ?? ''
    const data = join(t.testdir(), 'db')
    const serve = () =>
      runCommand(['serve', '--port', '0', '--admin-port', '0', '--workers', '1', '--data', data, '--store', store])
    const migrate = () => runCommand(['migrate', '--store', store])

    await t.test('without a schema nothing starts', async (t) => {
      for (const { code, stderr } of [await serve(), await runCommand(['check', '--store', store, '--data', data])]) {
        t.not(code, 0, 'it ends')
        t.match(stderr, /there is no topicd schema in the store: run "topicd migrate"/, 'saying what to run')
      }
    })

    await t.test('migrations that run concurrently or again create one schema', async (t) => {
      for (const { code, stderr } of await Promise.all([migrate(), migrate(), migrate()]))
        t.equal(code, 0, `it succeeds ${stderr}`)
      const again = await migrate()
      t.strictSame(
        again,
        { code: 0, stdout: 'the schema already has version 5\n', stderr: '' },
        'nothing is left to do',
      )
      const check = await runCommand(['check', '--store', store, '--data', data])
      t.strictSame(check.stdout.trim().split('\n').at(-1), 'checked, 0 findings', 'the store can be opened')
    })

    await t.test('a schema of another version is refused, unless it allows this program', async (t) => {
      await execute(store, `update topicd.meta set value = 6 where name in ('schema_version', 'oldest_program')`)
      for (const { code, stderr } of [await serve(), await migrate()]) {
        t.not(code, 0, 'a later one')
        t.match(
          stderr,
          /schema has version 6, but this topicd supports 5: install the newer topicd/,
          'saying what to do',
        )
      }
      await execute(store, `delete from topicd.meta where name = 'oldest_program'`)
      t.match((await serve()).stderr, /install the newer topicd/, 'a later one without its oldest program')
      await execute(store, `insert into topicd.meta values ('oldest_program', 5)`)
      const check = await runCommand(['check', '--store', store, '--data', data])
      t.equal(check.code, 0, 'a later one that allows this program is accepted')
      t.match((await migrate()).stdout, /already has version 6/, 'and left unchanged')
      await execute(store, `update topicd.meta set value = 0 where name = 'schema_version'`)
      t.match((await serve()).stderr, /run "topicd migrate"/, 'an unfinished one')
      t.equal((await migrate()).code, 0, 'is completed by a migration')
    })

    await t.test('an engine that cannot be reached is reported', async (t) => {
      const { code, stderr } = await runCommand(['migrate', '--store', 'postgres://127.0.0.1:1/none'])
      t.equal(code, 1)
      t.match(stderr, /the PostgreSQL server cannot be reached/)
    })

    await t.test('a database that cannot hold every text is refused', async (t) => {
      const name = `${/\/([^/?]+)(\?|$)/.exec(store)?.[1]}_latin`
      await execute(store, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
      t.teardown(() => execute(store, `drop database ${name} with (force)`))
      const latin = store.replace(/\/[^/?]+(\?|$)/, `/${name}$1`)
      t.equal((await runCommand(['migrate', '--store', latin])).code, 0)
      const { code, stderr } = await runCommand(['check', '--store', latin, '--data', data])
      t.not(code, 0)
      t.match(stderr, /the database has the encoding LATIN1, not UTF8/)
    })

    await t.test('an address of an unknown kind is refused', async (t) => {
      for (const command of ['migrate', 'check']) {
        const { code, stderr } = await runCommand([
          command,
          '--store',
          'mysql://x',
          ...(command === 'check' ? ['--data', data] : []),
        ])
        t.not(code, 0, command)
        t.match(stderr, /it must be lmdb or postgres:\/\//, `${command} names the valid forms`)
      }
    })

    await t.test('a migration of lmdb is refused, since it needs none', async (t) => {
      const { code, stderr } = await runCommand(['migrate', '--store', 'lmdb'])
      t.equal(code, 2)
      t.match(stderr, /^topicd: --store is lmdb, which needs no migration/)
    })
  },
)
