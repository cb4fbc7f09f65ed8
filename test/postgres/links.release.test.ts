/**
 * Links to the engine that freeze, fall silent or delay a statement. Requests are answered in time, nothing is executed long after its
 * caller got a response, and a link that works again is used again.
 */

import pg from 'pg'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import { storedForms } from '../../dist/store/topics.js'
import type { Path } from '../../dist/topics/path.js'
import type { Properties } from '../../dist/topics/topic.js'
import { only } from '../support/elements.js'
import { gives, refuses } from '../support/expected-answers.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

/** A service with topics that reaches its engine through a proxy. */
async function startBehindProxy(t: Test, paths: readonly string[] = ['a']) {
  const store = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, store)
  const server = await startServer(t, { store: proxy.addressOf(store), workers: 1, check: false })
  const { post } = server
  const send = (route: Parameters<typeof post>[0], body: object) => server.connect().post(route, body)
  for (const path of paths)
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
  /** Replacing the connections that were lost with the link may take a moment. */
  const isUnchanged = async (path: string): Promise<void> => {
    const answer = await until('a fetch is answered', async () => {
      const fetched = await post('fetch', { path })
      return fetched.status === 503 ? undefined : fetched
    })
    gives(t, answer, `{"path":"${path}","type":"json","value":1}`, `${path} is unchanged`)
  }
  return { store, proxy, server, post, send, isUnchanged }
}

/** Opens the test's own connection to the engine. */
async function connect(t: Test, address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Unfreezes a link; resolves once the engine has executed the commit that was in transit. */
async function thaw(t: Test, proxy: FaultProxy, address: string): Promise<void> {
  const client = await connect(t, address)
  const commits = async (condition: string): Promise<number> => {
    const query = `select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%topicd.commit(%' and ${condition}`
    return (await execute(address, query)).length
  }
  await client.query(`begin; select from topicd.meta where name = 'order' for update`)
  proxy.set('pass')
  await until('the commit waits', async () => (await commits(`wait_event_type = 'Lock'`)) > 0 || undefined)
  await client.query('commit')
  await until('the commit has ended', async () => (await commits(`state = 'active'`)) === 0 || undefined)
}

const timeout = 600_000

await t.test('requests over a silent link are rejected until the link works again', { skip, timeout }, async (t) => {
  const { proxy, server, post, send } = await startBehindProxy(t)
  proxy.set('silent')
  proxy.cut()
  for (const answer of await Promise.all(Array.from({ length: 8 }, () => send('fetch', { path: 'a' }))))
    refuses(t, answer, 503, 'store_unavailable', 'one of eight requests')
  refuses(t, await post('fetch', { path: 'a' }), 503, 'store_unavailable', 'a later request')
  const reason = await until('/readyz gives the reason', async () => {
    const ready = await fetch(`${server.adminUrl}/readyz`)
    return ready.status === 503 ? ready.text() : undefined
  })
  t.match(reason, /the store is unavailable: the PostgreSQL server cannot be reached/)
  proxy.set('pass')
  await until('a fetch succeeds', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined))
})

await t.test('a write on a frozen link has an unknown outcome and never runs later', { skip, timeout }, async (t) => {
  const { store, proxy, send, isUnchanged } = await startBehindProxy(t)
  proxy.set('freeze')
  const [write, read] = await Promise.all([send('set', { path: 'a', value: 2 }), send('fetch', { path: 'a' })])
  refuses(t, write, 503, 'unknown_outcome', 'a write that was sent')
  refuses(t, read, 503, 'store_unavailable', 'a read')
  await thaw(t, proxy, store)
  await isUnchanged('a')
})

for (const [route, body] of [
  ['set', { path: 'a', value: 2 }],
  ['addAndSet', { path: 'a', value: 2 }],
  ['add', { path: 'b', type: 'json' }],
  ['remove', { path: 'a' }],
] as const) {
  await t.test(`a delayed ${route} is rejected and changes nothing`, { skip, timeout }, async (t) => {
    const { proxy, post, send, isUnchanged } = await startBehindProxy(t)
    const held = proxy.holdNext(['commit_changes'], 5000)
    const answer = send(route, body)
    await held
    refuses(t, await answer, 503, 'store_unavailable', 'the statement started too late and changed nothing')
    await isUnchanged('a')
    refuses(t, await post('fetch', { path: 'b' }), 400, 'no_such_topic', 'no topic was created')
  })
}

const paths = ['a', 'b', 'c']

await t.test('writes that wait behind a frozen write are rejected and never executed', { skip, timeout }, async (t) => {
  const { store, proxy, send, isUnchanged } = await startBehindProxy(t, paths)
  const write = (path: string) => send('set', { path, value: 2 })
  const isSent = proxy.holdNext(['commit_changes'], 0)
  const first = write('a')
  await isSent
  proxy.set('freeze')
  const others = ['b', 'c'].map(write)
  refuses(t, await first, 503, 'unknown_outcome', 'the write that was sent')
  for (const other of others) refuses(t, await other, 503, 'store_unavailable', 'a waiting write')
  await thaw(t, proxy, store)
  for (const path of paths) await isUnchanged(path)
})

await t.test('the wait of a write for its commit counts towards its time limit', { skip, timeout }, async (t) => {
  const { proxy, send, isUnchanged } = await startBehindProxy(t, paths)
  const write = (path: string) => send('set', { path, value: 2 })
  const held = proxy.holdNext(['commit_changes'], 2000)
  const first = write('a')
  await held
  const second = write('b')
  await proxy.holdNext(['commit_changes'], 2200)
  gives(t, await first, '{"path":"a"}', 'the write that was sent immediately')
  refuses(t, await second, 503, 'store_unavailable', 'the write would start more than 4 s after its request')
  await isUnchanged('b')
})

/**
 * One store opened twice, as by two processes: `slow` through a proxy, `quick` directly. A due policy removes a/1. When this resolves, the
 * removal is in transit from `slow` on a frozen link.
 */
async function startClause(t: Test) {
  const address = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, address)
  const slow = await openPostgresStore(proxy.addressOf(address))
  const quick = await openPostgresStore(address)
  t.teardown(async () => {
    proxy.cut()
    await Promise.all([slow.close(), quick.close()])
  })
  const create = (path: string, properties: Properties = {}) =>
    single.addAndSet(quick, creation(path, 'json', properties), Buffer.from('1'))
  await create('a/1')
  await create('policy', { REMOVAL: `when time after ${Date.now() - 1000} remove ">a/1"` })
  const held = proxy.holdNext(['commit_changes', 'a\0' + '1'], 0)
  void slow.removeDue(planSelector).catch(() => {})
  await held
  proxy.set('freeze')
  return {
    create,
    isThere: async (path: string) => (await quick.readTopic(path as Path, storedForms.json)) !== 'no_such_topic',
    sweepUntilGone: () =>
      until('another process executes the clause', async () => {
        await quick.removeDue(planSelector)
        return (await quick.readTopic('a/1' as Path, storedForms.json)) === 'no_such_topic' || undefined
      }),
    thaw: () => thaw(t, proxy, address),
  }
}

/** Takes the lease for another process, for as long as a lease may last. */
const takeLease = `update topicd.leases set holder = 'another',
  expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 3000`

await t.test('a late remove clause removes nothing if another process executed it', { skip, timeout }, async (t) => {
  const { create, isThere, sweepUntilGone, thaw } = await startClause(t)
  await sweepUntilGone()
  t.equal(await create('a/1'), 'created', 'a client creates the topic again')
  await thaw()
  t.ok(await isThere('a/1'), 'the delayed statement did not remove it')
})

await t.test('a process that waited for a lease does not take it from its new holder', { skip, timeout }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openPostgresStore(address)
  t.teardown(() => store.close())
  const holder = await connect(t, address)
  await holder.query(`begin; select 1 from topicd.leases for update`)
  const swept = store.removeDue(planSelector)
  await until('the process waits for the row', async () => {
    const query = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await execute(address, query)).length > 0 || undefined
  })
  await holder.query(`${takeLease}; commit`)
  await swept
  t.equal(only(await execute(address, 'select holder from topicd.leases')).holder, 'another', 'the new holder keeps it')
})
