/**
 * A write that the log on PostgreSQL cannot take is rolled back. Which topics each write logs: store/change-log.
 */
import t from 'tap'
import { openStore } from '../../dist/store/open.js'
import type { WriteOperation } from '../../dist/store/topics.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, path } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

const set = (topic: string): WriteOperation => ({
  kind: 'set',
  path: path(topic),
  type: 'json',
  valueText: Buffer.from('1'),
})
const add = (topic: string): WriteOperation => ({ kind: 'add', ...creation(topic), valueText: undefined })

await t.test('a write that cannot be logged is rolled back', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openStore(address, { directory: t.testdir() })
  t.teardown(() => store.close())
  await store.write([add('a'), add('b')])
  const version = () => execute(address, `select key, version from topicd.topics order by key`)
  const before = await version()
  await execute(
    address,
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
     create trigger refuse before insert on topicd.changes for each row execute function refuse()`,
  )
  const remove: WriteOperation = { kind: 'remove', path: path('a'), valueText: undefined }
  for (const write of [[set('a')], [set('a'), set('b')], [remove], [add('c')]])
    await t.rejects(store.write(write), { message: /planted/ })
  t.strictSame(await version(), before)
  await execute(address, 'drop trigger refuse on topicd.changes')
  t.strictSame(await store.write([set('a')]), ['set'])
})
