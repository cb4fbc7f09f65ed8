/**
 * Links to the engine that freeze, fall silent or delay a statement: requests are answered in time, nothing is executed
 * long after its caller has been answered, and a link that works again is used again.
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

/** A service that reaches its engine through a proxy, with topics. */
async function startBehindProxy(t: Test, paths: readonly string[] = ['a']) {
  const store = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, store)
  const server = await startServer(t, { store: proxy.addressOf(store), workers: 1, check: false })
  const { post } = server
  const send = (route: Parameters<typeof post>[0], body: object) => server.connect().post(route, body)
  for (const path of paths)
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
  /** Connections that were lost with the link may take a moment to be replaced. */
  const isUnchanged = async (path: string): Promise<void> => {
    const answer = await until('a fetch is answered', async () => {
      const fetched = await post('fetch', { path })
      return fetched.status === 503 ? undefined : fetched
    })
    gives(t, answer, `{"path":"${path}","type":"json","value":1}`, `${path} is unchanged`)
  }
  return { store, proxy, server, post, send, isUnchanged }
}

/** A connection of the test's own to the engine. */
async function connect(t: Test, address: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Resolves once a statement with this text waits for a lock. */
function untilItWaits(address: string, text: string): Promise<true> {
  const query = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%${text}%'`
  return until('it waits for a lock', async () => (await execute(address, query)).length > 0 || undefined)
}

/** Lets a frozen link work again; resolves once the engine has executed the change of topics that was on its way. */
async function thaw(t: Test, proxy: FaultProxy, address: string): Promise<void> {
  const client = await connect(t, address)
  await client.query('begin; lock table topicd.topics')
  proxy.set('pass')
  await untilItWaits(address, 'changed as (')
  await client.query('commit; begin; lock table topicd.topics; commit')
}

const timeout = 600_000

await t.test(
  'requests over a silent link are refused, and served once it works again',
  { skip, timeout },
  async (t) => {
    const { proxy, server, post, send } = await startBehindProxy(t)
    proxy.set('silent')
    proxy.cut()
    for (const answer of await Promise.all(Array.from({ length: 8 }, () => send('fetch', { path: 'a' }))))
      refuses(t, answer, 503, 'store_unavailable', 'one of eight requests')
    refuses(t, await post('fetch', { path: 'a' }), 503, 'store_unavailable', 'a later one')
    const reason = await until('/readyz says why', async () => {
      const ready = await fetch(`${server.adminUrl}/readyz`)
      return ready.status === 503 ? ready.text() : undefined
    })
    t.match(reason, /the store is unavailable: the PostgreSQL server cannot be reached/)
    proxy.set('pass')
    await until('a fetch', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined))
  },
)

await t.test(
  'on a frozen link a write is an unknown outcome, and never executed later',
  { skip, timeout },
  async (t) => {
    const { store, proxy, send, isUnchanged } = await startBehindProxy(t)
    proxy.set('freeze')
    const [write, read] = await Promise.all([send('set', { path: 'a', value: 2 }), send('fetch', { path: 'a' })])
    refuses(t, write, 503, 'unknown_outcome', 'a write that was sent')
    refuses(t, read, 503, 'store_unavailable', 'a read')
    await thaw(t, proxy, store)
    await isUnchanged('a')
  },
)

for (const [route, body, name] of [
  ['set', { path: 'a', value: 2 }, 'overwrite_one'],
  ['addAndSet', { path: 'a', value: 2 }, 'overwrite_like'],
  ['add', { path: 'b', type: 'json' }, 'create'],
  ['remove', { path: 'a' }, 'remove'],
] as const) {
  await t.test(`a delayed ${route} is refused, and changes nothing`, { skip, timeout }, async (t) => {
    const { proxy, post, send, isUnchanged } = await startBehindProxy(t)
    // Prepared here, so that its execution is delayed and not its preparation.
    await post(route, route === 'add' || route === 'remove' ? { ...body, path: 'none' } : { ...body, value: 1 })
    const held = proxy.holdNext(name, 5000)
    const answer = send(route, body)
    await held
    refuses(t, await answer, 503, 'store_unavailable', 'it began too late, and changed nothing')
    await isUnchanged('a')
    refuses(t, await post('fetch', { path: 'b' }), 400, 'no_such_topic', 'no topic was created')
  })
}

const paths = ['a', 'b', 'c']

await t.test('writes behind others on a frozen link are refused, and never executed', { skip, timeout }, async (t) => {
  const { store, proxy, send, isUnchanged } = await startBehindProxy(t, paths)
  const write = (path: string) => send('set', { path, value: 2 })
  // One batch each: the first is sent, the second waits for a session, the third for its batch to be sent.
  const isSent = proxy.holdNext('overwrite_one', 0)
  const first = write('a')
  await isSent
  proxy.set('freeze')
  const asksForSession = proxy.holdNext('application_name', 0)
  const second = write('b')
  await asksForSession
  const third = write('c')
  refuses(t, await first, 503, 'unknown_outcome', 'the one that was sent')
  refuses(t, await second, 503, 'store_unavailable', 'the one that waited for a session')
  refuses(t, await third, 503, 'store_unavailable', 'the one that waited for its batch')
  await thaw(t, proxy, store)
  for (const path of paths) await isUnchanged(path)
})

await t.test('the time that a write waits for its batch counts towards its limit', { skip, timeout }, async (t) => {
  const { proxy, send, isUnchanged } = await startBehindProxy(t, paths)
  const write = (path: string) => send('set', { path, value: 2 })
  const answers: ReturnType<typeof write>[] = []
  const sinceMs = performance.now()
  // Two batches are delayed by 2 s each; the third waits for one of them, and is then delayed until its 4 s are over.
  for (const path of ['a', 'b']) {
    const held = proxy.holdNext('overwrite_one', 2000)
    answers.push(write(path))
    await held
  }
  const held = proxy.holdNext('overwrite_one', 2200 + performance.now() - sinceMs)
  const third = write('c')
  await held
  for (const [i, answer] of answers.entries())
    gives(t, await answer, `{"path":"${paths[i]}"}`, 'one that was sent at once')
  refuses(t, await third, 503, 'store_unavailable', 'it would begin more than 4 s after it was requested')
  await isUnchanged('c')
})

/**
 * One store opened twice, as by two processes: `slow` through a proxy, `quick` directly. A due policy removes a/1, and
 * the removal is on its way from `slow` when this resolves, on a frozen link.
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
  const held = proxy.holdNext('remove_for_clause', 0)
  void slow.removeDue(planSelector).catch(() => {})
  await held
  proxy.set('freeze')
  return {
    address,
    quick,
    create,
    isThere: async (path: string) => (await quick.readTopic(path as Path, storedForms.json)) !== 'no_such_topic',
    hasEnded: async () => (await execute(address, 'select 1 from topicd.topics where due is not null')).length === 0,
    sweepUntilGone: () =>
      until('another process executes it', async () => {
        await quick.removeDue(planSelector)
        return (await quick.readTopic('a/1' as Path, storedForms.json)) === 'no_such_topic' || undefined
      }),
    thaw: () => thaw(t, proxy, address),
  }
}

/** Another process takes the lease, for as long as a lease may last. */
const takeLease = `update topicd.leases set holder = 'another',
  expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 3000`

await t.test(
  'a clause whose process loses the lease removes nothing; another executes it',
  { skip, timeout },
  async (t) => {
    const { address, isThere, hasEnded, sweepUntilGone, thaw } = await startClause(t)
    await execute(address, takeLease)
    await thaw()
    t.ok(await isThere('a/1'), 'without the lease nothing is removed')
    t.notOk(await hasEnded(), 'and the policy still waits')
    await sweepUntilGone()
  },
)

await t.test(
  'a clause does not remove a topic created again before its late statement',
  { skip, timeout },
  async (t) => {
    const { quick, create, isThere, hasEnded, thaw } = await startClause(t)
    t.equal(await single.remove(quick, 'a/1' as Path), true)
    t.equal(await create('a/1'), 'created')
    await thaw()
    await until('the clause has ended', async () => (await hasEnded()) || undefined)
    t.ok(await isThere('a/1'), 'the new topic remains')
  },
)

await t.test(
  'a late statement of a clause that another process has executed removes nothing',
  { skip, timeout },
  async (t) => {
    const { create, isThere, sweepUntilGone, thaw } = await startClause(t)
    await sweepUntilGone()
    t.equal(await create('a/1'), 'created', 'a client creates the topic again')
    await thaw()
    t.ok(await isThere('a/1'), 'the delayed statement did not remove it')
  },
)

await t.test('a process that waited for the lease leaves it to its holder', { skip, timeout }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const store = await openPostgresStore(address)
  t.teardown(() => store.close())
  const holder = await connect(t, address)
  await holder.query(`begin; select 1 from topicd.leases for update`)
  const swept = store.removeDue(planSelector)
  await until('it waits for the row', async () => {
    const query = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await execute(address, query)).length > 0 || undefined
  })
  await holder.query(`${takeLease}; commit`)
  await swept
  t.equal(only(await execute(address, 'select holder from topicd.leases')).holder, 'another', 'the new holder keeps it')
})
