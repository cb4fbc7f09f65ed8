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
import { at, only } from '../support/elements.js'
import { gives, refuses } from '../support/expected-answers.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { creation, single } from '../support/stores/store.js'

const engine = await postgres()
const skip = engine === undefined && skipReason

/** A service that reaches its engine through a proxy. */
async function startBehindProxy(t: Parameters<typeof startServer>[0]) {
  const store = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, store)
  const server = await startServer(t, { store: proxy.addressOf(store), workers: 1, check: false })
  return { store, proxy, server, post: server.post }
}

const paths = ['a', 'b', 'c']

async function createAll(t: Test, post: Server['post']): Promise<void> {
  for (const path of paths)
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
}

async function timed<T>(work: Promise<T>): Promise<readonly [ms: number, result: T]> {
  const startedMs = performance.now()
  const result = await work
  return [performance.now() - startedMs, result]
}

await t.test(
  'requests over a silent link are refused in time, and served once it works again',
  { skip, timeout: 600_000 },
  async (t) => {
    const { proxy, server, post } = await startBehindProxy(t)
    gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
    proxy.set('silent')
    proxy.cut()
    const [firstMs, first] = await timed(
      Promise.all(Array.from({ length: 8 }, () => server.connect().post('fetch', { path: 'a' }))),
    )
    for (const answer of first) refuses(t, answer, 503, 'store_unavailable', 'one of eight requests')
    const [laterMs, later] = await timed(post('fetch', { path: 'a' }))
    refuses(t, later, 503, 'store_unavailable', 'a later one')
    t.ok(
      laterMs < firstMs / 2,
      `a later one after ${laterMs.toFixed(0)} ms, the first ones after ${firstMs.toFixed(0)} ms`,
    )
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
  'on a frozen link a read is refused, and a write is an unknown outcome that is not executed later',
  { skip, timeout: 600_000 },
  async (t) => {
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
    await until('a fetch', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined))
    gives(
      t,
      await post('fetch', { path: 'a' }),
      '{"path":"a","type":"json","value":1}',
      'the write arrived too late and was not executed',
    )
  },
)

for (const [route, body, name] of [
  ['set', { path: 'a', value: 2 }, 'overwrite_one'],
  ['addAndSet', { path: 'a', value: 2 }, 'overwrite_like'],
  ['add', { path: 'b', type: 'json' }, 'create'],
  ['remove', { path: 'a' }, 'remove'],
] as const) {
  await t.test(`a delayed ${route} is refused, and changes nothing`, { skip, timeout: 600_000 }, async (t) => {
    const { proxy, post, server } = await startBehindProxy(t)
    gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
    // Prepared here, so that its execution is delayed and not its preparation.
    await post(route, route === 'add' || route === 'remove' ? { ...body, path: 'none' } : { ...body, value: 1 })
    const held = proxy.holdNext(name, 6000)
    const answer = server.connect().post(route, body)
    await held
    refuses(t, await answer, 503, 'store_unavailable', 'it began too late, and changed nothing')
    gives(t, await post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":1}', 'the topic is unchanged')
    refuses(t, await post('fetch', { path: 'b' }), 400, 'no_such_topic', 'no topic was created')
  })
}

await t.test(
  'writes that wait behind others on a frozen link are refused, and not executed later',
  { skip, timeout: 600_000 },
  async (t) => {
    const { proxy, server, post } = await startBehindProxy(t)
    await createAll(t, post)
    proxy.set('freeze')
    const writes: ReturnType<typeof post>[] = []
    for (const path of paths) {
      writes.push(server.connect().post('set', { path, value: 2 }))
      // One batch each: the first is sent, the second waits for a session, the third for its batch to be sent.
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const answers = await Promise.all(writes)
    refuses(t, at(answers, 0), 503, 'unknown_outcome', 'the one that was sent')
    refuses(t, at(answers, 1), 503, 'store_unavailable', 'the one that waited for a session')
    refuses(t, at(answers, 2), 503, 'store_unavailable', 'the one that waited for its batch')
    proxy.set('pass')
    await new Promise((resolve) => setTimeout(resolve, 3000))
    for (const path of paths)
      gives(t, await post('fetch', { path }), `{"path":"${path}","type":"json","value":1}`, 'it was not executed')
  },
)

await t.test(
  'the time that a write waits for its batch counts towards its limit',
  { skip, timeout: 600_000 },
  async (t) => {
    const { proxy, server, post } = await startBehindProxy(t)
    await createAll(t, post)
    const answers: ReturnType<typeof post>[] = []
    // Two batches are delayed by 2.6 s each; the third waits for one of them, and is then delayed by 2 s.
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
    refuses(t, await third, 503, 'store_unavailable', 'it would begin more than 4 s after it was requested')
    gives(t, await post('fetch', { path: 'c' }), '{"path":"c","type":"json","value":1}', 'it was not executed')
  },
)

/** One store opened twice, as by two processes: `slow` through a proxy, `quick` directly. A due policy removes a/1. */
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
    return single.addAndSet(quick, creation(path, 'json', properties), Buffer.from('1'))
  }
  await create('a/1')
  await create('policy', `when time after ${Date.now() - 1000} remove ">a/1"`)
  const isThere = async (path: string): Promise<boolean> =>
    (await quick.readTopic(path as Path, storedForms.json)) !== 'no_such_topic'
  return { address, proxy, slow, quick, create, isThere }
}

await t.test(
  'a clause whose process loses the lease removes nothing, and another process executes it',
  { skip, timeout: 600_000 },
  async (t) => {
    const { address, proxy, slow, quick, isThere } = await startClause(t)
    const held = proxy.holdNext('remove_for_clause', 500)
    void slow.removeDue(planSelector).catch(() => {})
    await held
    await execute(
      address,
      `update topicd.leases set holder = 'another', expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 2000`,
    )
    await new Promise((resolve) => setTimeout(resolve, 1000))
    t.ok(await isThere('a/1'), 'without the lease nothing is removed')
    const policy = only(await execute(address, 'select count(*) as due from topicd.topics where due is not null'))
    t.equal(policy.due, '1', 'and the policy still waits')
    await until('another process executes it', async () => {
      await quick.removeDue(planSelector)
      return (await isThere('a/1')) ? undefined : true
    })
  },
)

await t.test(
  'a clause does not remove a topic that was created again while its statement was delayed',
  { skip, timeout: 600_000 },
  async (t) => {
    const { address, proxy, slow, quick, create, isThere } = await startClause(t)
    const held = proxy.holdNext('remove_for_clause', 1000)
    void slow.removeDue(planSelector).catch(() => {})
    await held
    t.equal(await single.remove(quick, 'a/1' as Path), true)
    t.equal(await create('a/1'), 'created')
    await until('the clause has ended', async () => {
      const policy = only(await execute(address, 'select count(*) as due from topicd.topics where due is not null'))
      return policy.due === '0' ? true : undefined
    })
    t.ok(await isThere('a/1'), 'the new topic remains')
  },
)

await t.test(
  'a process that waited for the row of the lease does not take it from its new holder',
  { skip, timeout: 600_000 },
  async (t) => {
    const { address, quick } = await startClause(t)
    const holder = new pg.Client({ connectionString: address })
    await holder.connect()
    t.teardown(() => holder.end())
    await holder.query(`begin; select 1 from topicd.leases for update`)
    const waiting = quick.removeDue(planSelector)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await holder.query(
      `update topicd.leases set holder = 'another', expires = floor(extract(epoch from clock_timestamp()) * 1000)::bigint + 3000; commit`,
    )
    await waiting
    const lease = only(await execute(address, 'select holder from topicd.leases'))
    t.equal(lease.holder, 'another', 'the new holder keeps it')
  },
)

await t.test(
  'a delayed statement of a clause removes nothing once another process has executed the clause',
  { skip, timeout: 600_000 },
  async (t) => {
    const { proxy, slow, quick, create, isThere } = await startClause(t)
    const held = proxy.holdNext('remove_for_clause', 9000)
    void slow.removeDue(planSelector).catch(() => {})
    await held
    proxy.set('freeze')
    await until('the other process executes the clause', async () => {
      await quick.removeDue(planSelector)
      return (await isThere('a/1')) ? undefined : true
    })
    t.equal(await create('a/1'), 'created', 'a client creates the topic again')
    proxy.set('pass')
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    t.ok(await isThere('a/1'), 'the delayed statement did not remove it')
  },
)
