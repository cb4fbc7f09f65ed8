/**
 * Responses to refusals by PostgreSQL. A conflict is retried, and reported only if it persists. A full disk, a read-only engine and a
 * connection lost during a commit each have their own code. Triggers plant the refusals.
 */
import t from 'tap'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import { gives, refuses } from '../support/expected-answers.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { ChangesStream } from '../support/service/changes.js'
import { startServer } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { path, single } from '../support/stores/store.js'

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: 600_000 }

await t.test('each kind of refusal by the engine gets its own response', options, async (t) => {
  const store = (await engine?.database()) ?? ''
  await execute(
    store,
    `create table faults (text text primary key, state text not null, times int not null);
     create sequence refusals;
     create function refuse() returns trigger language plpgsql as $$
     declare fault faults;
     begin
       select * into fault from faults where position(text in new.item) > 0;
       if found and nextval('refusals') <= fault.times then raise exception 'planted' using errcode = fault.state; end if;
       return new;
     end $$;
     create trigger refuse before insert or update on topicd.topics for each row execute function refuse()`,
  )
  const fault = (text: string, state: string, times: number) =>
    execute(
      store,
      `alter sequence refusals restart; delete from faults; insert into faults values ('${text}', '${state}', ${times})`,
    )
  const { post } = await startServer(t, { store, workers: 1 })
  const write = (path: string) => post('addAndSet', { path, value: 1 })

  await t.test('a write that loses conflicts is retried until it succeeds', async (t) => {
    for (const [path, state] of [
      ['won/a', '40001'],
      ['won/b', '40P01'],
    ] as const) {
      await fault(path, state, 4)
      gives(t, await write(path), `{"path":"${path}","created":true}`, `${state}, four times`)
    }
  })

  await t.test('a write with a persistent conflict gets 503 and changes nothing', async (t) => {
    await fault('lost', '40001', 1000)
    refuses(t, await write('lost'), 503, 'write_conflict', 'a conflict at each attempt')
    await fault('none', '40001', 0)
    refuses(t, await post('fetch', { path: 'lost' }), 400, 'no_such_topic', 'the topic was not created')
  })

  await t.test('a write to a full disk gets 507', async (t) => {
    await fault('full', '53100', 1)
    refuses(t, await write('full'), 507, 'disk_nearly_full', 'disk full')
    gives(t, await write('full'), '{"path":"full","created":true}', 'once there is room again')
  })

  await t.test('a write to a read-only engine gets 503 until the engine is writable', async (t) => {
    await fault('reads', '25006', 1)
    refuses(t, await write('reads'), 503, 'store_unavailable', 'read only')
    gives(t, await write('reads'), '{"path":"reads","created":true}', 'once it is writable again')
  })

  await t.test('a write that causes an unknown error of the engine gets 500', async (t) => {
    await fault('odd', 'P0001', 1)
    refuses(t, await write('odd'), 500, 'internal_error', 'an unknown error')
    gives(t, await write('odd'), '{"path":"odd","created":true}', 'the service continues')
  })
})

await t.test('a connection lost in a commit leaves an unknown outcome, but a read is retried', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, address)
  const store = proxy.addressOf(address)
  const server = await startServer(t, { store, workers: 1 })
  const { post } = server

  proxy.losesAnswer = (bytes) => bytes.includes('"path":"cut"')
  refuses(
    t,
    await post('addAndSet', { path: 'cut', value: 1 }),
    503,
    'unknown_outcome',
    'a write whose response is lost',
  )
  proxy.losesAnswer = () => false
  gives(
    t,
    await post('addAndSet', { path: 'other', value: 1 }),
    '{"path":"other","created":true}',
    'the service continues',
  )
  let cuts = 1
  proxy.losesAnswer = (bytes) => bytes.includes('read_item') && cuts-- > 0
  gives(t, await post('fetch', { path: 'other' }), '{"path":"other","type":"json","value":1}', 'a read is retried')
  t.ok(cuts < 1, 'a session was lost')
  for (const statement of ['begin_snapshot', 'read_topics_at_keys']) {
    cuts = 1
    proxy.losesAnswer = (bytes) => bytes.includes(statement) && cuts-- > 0
    const read = await post('fetch', { paths: ['other', 'none'] })
    const expected = '{"results":[{"path":"other","type":"json","value":1},{"path":"none","missing":true}]}'
    gives(t, read, expected, `a read of one snapshot is retried: ${statement}`)
    t.ok(cuts < 1, 'a session was lost')
  }
  const stream = await ChangesStream.open(server, { path: 'other' })
  t.teardown(() => stream.close())
  await stream.complete('the stream has the initial state')
  // Another host's commits are read from the log; the worker's own need not be.
  const host = await openPostgresStore(address)
  t.teardown(() => host.close())
  for (const [value, statement] of ['begin_snapshot', 'read_log\0', 'read_topics_at_keys'].entries()) {
    cuts = 1
    proxy.losesAnswer = (bytes) => bytes.includes(statement) && cuts-- > 0
    await single.set(host, path('other'), 'json', Buffer.from(String(value)))
    await stream.complete(`a stream continues: ${statement}`, ({ topics }) => topics.get('other')?.value === value)
    t.ok(cuts < 1, 'a session was lost')
  }
})
