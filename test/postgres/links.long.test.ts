/**
 * Links that refuse, freeze, fall silent or hold a statement back: requests are answered in time, nothing is carried out long
 * after nobody waits for it, and what works again is used again.
 */

import pg from 'pg'
import t, { type Test } from 'tap'
import { openPostgresStore } from '../../dist/store/postgres/open.js'
import type { Path } from '../../dist/topics/path.js'
import { removalOf } from '../../dist/topics/properties.js'
import type { Properties } from '../../dist/topics/topic.js'
import { gives, refuses } from '../support/claims.js'
import { FaultProxy } from '../support/fault-proxy.js'
import { at, only } from '../support/only.js'
import { postgres, skipReason } from '../support/postgres.js'
import { execute } from '../support/postgres-cluster.js'
import { startServer, until } from '../support/server.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

/** A service that reaches its engine through a proxy. */
async function startBehindProxy(t: Parameters<typeof startServer>[0]) {
  const store = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, store)
  const server = await startServer(t, { store: proxy.addressOf(store), workers: 1, check: false })
  return { store, proxy, server, post: server.post }
}

async function timed<T>(work: Promise<T>): Promise<readonly [ms: number, result: T]> {
  const startedMs = performance.now()
  const result = await work
  return [performance.now() - startedMs, result]
}

await t.test('a link that falls silent behind the log-in', { skip, timeout: 120_000 }, async (t) => {
  const { proxy, server, post } = await startBehindProxy(t)
  gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
  proxy.set('silent')
  proxy.cut()
  const [firstMs, first] = await timed(
    Promise.all(Array.from({ length: 8 }, () => server.connect().post('fetch', { path: 'a' }))),
  )
  for (const answer of first) refuses(t, answer, 503, 'store_unavailable', 'one of eight requests')
  t.ok(firstMs < 8000, `the first are refused after ${firstMs.toFixed(0)} ms`)
  const [laterMs, later] = await timed(post('fetch', { path: 'a' }))
  refuses(t, later, 503, 'store_unavailable', 'a later one')
  t.ok(laterMs < 1000, `later ones after ${laterMs.toFixed(0)} ms`)
  const reason = await until('/readyz says why', async () => {
    const ready = await fetch(`${server.adminUrl}/readyz`)
    return ready.status === 503 ? ready.text() : undefined
  })
  t.match(reason, /the store is unavailable: the engine cannot be reached/)
  proxy.set('pass')
  const [backMs] = await timed(
    until('a fetch', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined)),
  )
  t.ok(backMs < 5000, `back after ${backMs.toFixed(0)} ms`)
})

await t.test('a link that is frozen', { skip, timeout: 120_000 }, async (t) => {
  const { proxy, server, post } = await startBehindProxy(t)
  gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
  proxy.set('freeze')
  const [write, read] = await Promise.all([
    server.connect().post('set', { path: 'a', value: 2 }),
    server.connect().post('fetch', { path: 'a' }),
  ])
  refuses(t, write, 503, 'unknown_outcome', 'a write that was sent')
  refuses(t, read, 503, 'store_unavailable', 'a read')
  proxy.set('pass')
  const [backMs] = await timed(
    until('a fetch', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined)),
  )
  t.ok(backMs < 5000, `back after ${backMs.toFixed(0)} ms`)
  gives(
    t,
    await post('fetch', { path: 'a' }),
    '{"path":"a","type":"json","value":1}',
    'what was sent too late was not carried out',
  )
})

for (const [route, body, name] of [
  ['set', { path: 'a', value: 2 }, 'overwrite_one'],
  ['addAndSet', { path: 'a', value: 2 }, 'overwrite_like'],
  ['add', { path: 'b', type: 'json' }, 'create'],
  ['remove', { path: 'a' }, 'remove'],
] as const) {
  await t.test(`${route}, held back by its link`, { skip, timeout: 60_000 }, async (t) => {
    const { proxy, post, server } = await startBehindProxy(t)
    gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
    // Prepared already, so that only its use is held back and not its preparation.
    await post(route, route === 'add' || route === 'remove' ? { ...body, path: 'none' } : { ...body, value: 1 })
    const held = proxy.holdNext(name, 6000)
    const answer = server.connect().post(route, body)
    await held
    refuses(t, await answer, 503, 'store_unavailable', 'it comes too late, and says that nothing was changed')
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":1}', 'nothing was')
    refuses(t, await post('fetch', { path: 'b' }), 400, 'no_such_topic', 'nothing was')
  })
}

await t.test('a write that waited behind others on a frozen link', { skip, timeout: 60_000 }, async (t) => {
  const { proxy, server, post } = await startBehindProxy(t)
  const paths = ['a', 'b', 'c']
  for (const path of paths)
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
  proxy.set('freeze')
  const writes: ReturnType<typeof post>[] = []
  for (const path of paths) {
    writes.push(server.connect().post('set', { path, value: 2 }))
    // A round each: one is sent, one waits for a session, and one for its round.
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const answers = await Promise.all(writes)
  refuses(t, at(answers, 0), 503, 'unknown_outcome', 'one that was sent')
  refuses(t, at(answers, 1), 503, 'store_unavailable', 'one that waited for a session')
  refuses(t, at(answers, 2), 503, 'store_unavailable', 'one that waited is not sent any more')
  proxy.set('pass')
  await new Promise((resolve) => setTimeout(resolve, 3000))
  for (const path of paths)
    gives(t, await post('fetch', { path }), `{"path":"${path}","type":"json","value":1}`, 'it was not carried out')
})

await t.test('the time that a write waited for its round counts too', { skip, timeout: 60_000 }, async (t) => {
  const { proxy, server, post } = await startBehindProxy(t)
  const paths = ['a', 'b', 'c']
  for (const path of paths)
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
  const answers: ReturnType<typeof post>[] = []
  // Two rounds are on their way for 2.6 s, the third waits for one of them and is on its way for 2 s.
  for (const [path, ms] of [
    ['a', 2600],
    ['b', 2600],
  ] as const) {
    const held = proxy.holdNext('overwrite_one', ms)
    answers.push(server.connect().post('set', { path, value: 2 }))
    await held
  }
  const held = proxy.holdNext('overwrite_one', 2000)
  const third = server.connect().post('set', { path: 'c', value: 2 })
  await held
  for (const [i, answer] of answers.entries())
    gives(t, await answer, `{"path":"${paths[i]}"}`, 'one that was sent at once')
  refuses(t, await third, 503, 'store_unavailable', 'more than 4 s after it was asked for')
  gives(t, await post('fetch', { path: 'c' }), '{"path":"c","type":"json","value":1}', 'it was not carried out')
})

/** Two processes of the same store, the first one behind a proxy, and a policy that is due and removes what is below "a". */
async function startClause(t: Test) {
  const address = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, address)
  const slow = await openPostgresStore(proxy.addressOf(address))
  const quick = await openPostgresStore(address)
  t.teardown(async () => {
    proxy.cut()
    await Promise.all([slow.close(), quick.close()])
  })
  const create = (path: string, removal?: string) => {
    const properties: Properties = removal === undefined ? {} : { REMOVAL: removal }
    const creation = { path: path as Path, type: 'json', properties, removal: removalOf(properties) } as const
    return quick.addAndSet(creation, Buffer.from('1'))
  }
  await create('a/1')
  await create('policy', `when time after ${Date.now() - 1000} remove ">a/1"`)
  const isThere = async (path: string): Promise<boolean> =>
    (await quick.readTopic(path as Path, 'json')) !== 'no_such_topic'
  return { address, proxy, slow, quick, create, isThere }
}

await t.test('a clause whose process loses the lease is not over', { skip, timeout: 60_000 }, async (t) => {
  const { address, proxy, slow, quick, isThere } = await startClause(t)
  const held = proxy.holdNext('remove_for_clause', 500)
  void slow.removeDue().catch(() => {})
  await held
  await execute(
    address,
    `update topicd.leases set holder = 'another', expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 2000`,
  )
  await new Promise((resolve) => setTimeout(resolve, 1000))
  t.ok(await isThere('a/1'), 'without the lease nothing is removed')
  const policy = only(await execute(address, 'select count(*) as due from topicd.topics where due is not null'))
  t.equal(policy.due, '1', 'and the policy waits')
  await until('another process carries it out', async () => {
    await quick.removeDue()
    return (await isThere('a/1')) ? undefined : true
  })
})

await t.test(
  'a topic that was created again while its removal was on its way',
  { skip, timeout: 60_000 },
  async (t) => {
    const { address, proxy, slow, quick, create, isThere } = await startClause(t)
    const held = proxy.holdNext('remove_for_clause', 1000)
    void slow.removeDue().catch(() => {})
    await held
    t.equal(await quick.remove('a/1' as Path), true)
    t.equal(await create('a/1'), 'created')
    await until('the clause is over', async () => {
      const policy = only(await execute(address, 'select count(*) as due from topicd.topics where due is not null'))
      return policy.due === '0' ? true : undefined
    })
    t.ok(await isThere('a/1'), 'stays')
  },
)

await t.test(
  'a lease that was taken while another process waited for its row',
  { skip, timeout: 60_000 },
  async (t) => {
    const { address, quick } = await startClause(t)
    const holder = new pg.Client({ connectionString: address })
    await holder.connect()
    t.teardown(() => holder.end())
    await holder.query(`begin; select 1 from topicd.leases for update`)
    const waiting = quick.removeDue()
    await new Promise((resolve) => setTimeout(resolve, 500))
    await holder.query(
      `update topicd.leases set holder = 'another', expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 3000; commit`,
    )
    await waiting
    const lease = only(await execute(address, 'select holder from topicd.leases'))
    t.equal(lease.holder, 'another', 'is not taken from its holder')
  },
)

await t.test(
  'what a clause removes, held back until another process has carried the clause out',
  { skip, timeout: 60_000 },
  async (t) => {
    const { proxy, slow, quick, create, isThere } = await startClause(t)
    const held = proxy.holdNext('remove_for_clause', 9000)
    void slow.removeDue().catch(() => {})
    await held
    proxy.set('freeze')
    await until('the other process carries the clause out', async () => {
      await quick.removeDue()
      return (await isThere('a/1')) ? undefined : true
    })
    t.equal(await create('a/1'), 'created', 'a client creates the topic again')
    proxy.set('pass')
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    t.ok(await isThere('a/1'), 'what was held back did not remove it')
  },
)
