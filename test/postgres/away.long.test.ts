/**
 * An engine that cannot be reached at the start, in the middle, or at the stop. The service waits for it, logs the outage once, keeps
 * reporting its other metrics, and serves again within two seconds of the engine's return.
 */

import pg from 'pg'
import t from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { runCommand, type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { hasPostgres, startPair } from '../support/stores/postgres-pair.js'

const engine = await postgres()
const skip = !hasPostgres && skipReason

/** The log's messages about the store. */
function storeMessages(log: readonly Readonly<Record<string, unknown>>[]): unknown[] {
  return log.map(({ msg }) => msg).filter((msg) => /the store/.test(String(msg)))
}

await t.test('a service rejects requests until its engine is back', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  const proxy = await FaultProxy.start(t, address)
  const server = await startServer(t, { store: proxy.addressOf(address), workers: 1, check: false })
  const { post } = server
  gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
  const metrics = async (): Promise<string> => (await fetch(`${server.adminUrl}/metrics`)).text()
  await until('the topic is counted', async () => (/^topicd_topics 1$/m.test(await metrics()) ? true : undefined))
  proxy.set('refuse')
  refuses(t, await post('fetch', { path: 'a' }), 503, 'store_unavailable', 'a fetch')
  await server.logged('the store is unavailable')
  const text = await metrics()
  t.match(text, /^topicd_topics 1$/m, 'the number of topics is still reported')
  t.match(text, /^topicd_event_loop_delay_max_seconds/m, 'the other metrics are still reported')
  // Long enough for more probes of the engine to fail.
  for (let probes = 0; probes < 5; probes++) await post('fetch', { path: 'a' })
  const complaints = server.log.filter(({ level }) => Number(level) >= 40)
  t.match(complaints, [{ msg: 'the store is unavailable', err: undefined }], 'the only error line has no stack')
  t.equal(complaints.length, 1)
  proxy.set('pass')
  await until('a fetch succeeds', async () => ((await post('fetch', { path: 'a' })).status === 200 ? true : undefined))
  proxy.set('refuse')
  await server.stop()
  const errors = server.log.filter(({ level, msg }) => Number(level) >= 50 && msg !== 'the store is unavailable')
  t.strictSame(errors, [], 'a stop without the engine logs no error')
})

await t.test('a service whose engine refuses access exits with the reason', { skip, timeout: 600_000 }, async (t) => {
  const store = ((await engine?.database()) ?? '').replace(/user=\w+/, 'user=stranger')
  const flags = ['--port', '0', '--admin-port', '0', '--data', t.testdir()]
  const { code, stderr } = await runCommand(['serve', '--store', store, ...flags])
  t.not(code, 0)
  t.match(stderr, 'the PostgreSQL server denies access: role "stranger" does not exist')
})

await t.test('a lease that expires too far in the future is taken over', { skip, timeout: 600_000 }, async (t) => {
  const address = (await engine?.database()) ?? ''
  await execute(
    address,
    `update topicd.leases set holder = 'another', expires = floor(extract(epoch from now()) * 1000)::bigint + 3600000`,
  )
  const { post } = await startServer(t, { store: address, workers: 1 })
  const removal = `when time after ${Date.now() - 1000}`
  gives(
    t,
    await post('addAndSet', { path: 'a', value: 1, properties: { REMOVAL: removal } }),
    '{"path":"a","created":true}',
    'a topic that is due',
  )
  await until('the topic is removed', async () =>
    (await post('fetch', { path: 'a' })).code === 'no_such_topic' ? true : undefined,
  )
})

/** Sends `count` writes and as many fetches over each of 64 connections; returns the count of each response status. */
async function statusesOf(server: Server, count: number): Promise<[number, number][]> {
  const statuses = new Map<number, number>()
  const client = server.connect(64)
  const lanes = Array.from({ length: 64 }, async (_, lane) => {
    for (let i = 0; i < count; i++) {
      const path = `${lane}/${i}`
      for (const { status } of [
        await client.post('addAndSet', { path, value: i }),
        await client.post('fetch', { path }),
      ]) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
  })
  await Promise.all(lanes)
  return [...statuses]
}

/** A few requests are enough: a service opens its sessions when the first requests wait, and keeps them for a minute. */
const requestsEach = 10
const allAnswered = [[200, 64 * requestsEach * 2]]

await t.test('the default max_connections is enough', { skip, timeout: 600_000 }, async (t) => {
  const { primary, addressAt, standby } = await startPair(t, ['max_connections=100'])
  const store = addressAt(primary)
  await t.test('requests are answered while the engine has no free slot', async (t) => {
    const server = await startServer(t, { store, workers: 2, check: false })
    t.strictSame(await statusesOf(server, 1), [[200, 128]], 'each worker has a session')
    const others: pg.Client[] = []
    t.teardown(() => Promise.all(others.map((client) => client.end())))
    for (;;) {
      const client = new pg.Client({ connectionString: store })
      client.on('error', () => {})
      try {
        await client.connect()
        others.push(client)
      } catch {
        break
      }
    }
    t.ok(others.length > 50, `other clients use all ${others.length} remaining slots`)
    t.strictSame(await statusesOf(server, requestsEach), allAnswered, 'every request was answered')
  })

  await t.test('a service that starts while its engine is down waits for it', async (t) => {
    await standby.stop('SIGQUIT')
    await primary.stop('SIGINT')
    const server = await startServer(t, {
      store: addressAt(primary),
      workers: 2,
      check: false,
      token: 'none',
      flags: ['--first-key'],
    })
    refuses(t, await server.post('fetch', { path: 'a' }), 503, 'store_unavailable', 'no key is known yet')
    await until('/readyz gives the reason', async () => {
      const ready = await fetch(`${server.adminUrl}/readyz`)
      return ready.status === 503 && /the PostgreSQL server cannot be reached/.test(await ready.text())
        ? true
        : undefined
    })
    t.match(await server.command('reload'), { code: 0 }, 'a reload does not wait for the first key')
    const pids = server.workerPids()
    await primary.start()
    await until('the keys are known', async () =>
      (await server.post('fetch', { path: 'a' })).status === 401 ? true : undefined,
    )
    await until('the service is ready', async () =>
      (await fetch(`${server.adminUrl}/readyz`)).status === 200 ? true : undefined,
    )
    await server.logged('the store is back')
    t.strictSame(storeMessages(server.log), ['the store is unavailable', 'the store is back'], 'each message once')
    t.strictSame(server.workerPids(), pids, 'the workers are the same')
  })
})
