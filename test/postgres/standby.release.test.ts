/**
 * A primary with a synchronous standby: an acknowledged write is on both, even if the role has a weaker synchronous_commit. Fetches
 * continue while the standby is down. After a failover, the new primary is used and the old one never again.
 */
import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { gives, refuses } from '../support/expected-answers.js'
import type { Client } from '../support/service/client.js'
import { runCommand, type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'
import { hasPostgres, type Pair, startPair } from '../support/stores/postgres-pair.js'

const skip = !hasPostgres && skipReason

async function startOver(
  t: Test,
  settings: readonly string[] = [],
  workers = 2,
): Promise<{ pair: Pair; server: Server }> {
  const pair = await startPair(t, settings)
  return { pair, server: await startServer(t, { store: pair.address, workers, check: false }) }
}

/**
 * Minimum responses to each writer while the standby is down. A service that opened a session for each abandoned write would have used up
 * its share of sessions after the first response.
 */
const roundsMin = 3

/**
 * Posts over every connection of the client until `stop`, with a pause after each response. `rounds` returns the number of responses on the
 * slowest connection; `stop` returns the count of each status.
 */
function flood(
  client: Client,
  body: (i: number) => readonly [route: string, body: object],
  pauseMs = 0,
): { rounds(): number; stop(): Promise<Map<number, number>> } {
  const statuses = new Map<number, number>()
  const answers = Array.from({ length: client.connections }, () => 0)
  let stopped = false
  const lane = async (_: unknown, index: number): Promise<void> => {
    for (let round = 0; !stopped; round++) {
      const [route, parameters] = body(index + round * client.connections)
      const { status } = await client.post(route as 'set', parameters)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      answers[index] = round + 1
      if (pauseMs > 0) await sleep(pauseMs)
    }
  }
  const lanes = Array.from({ length: client.connections }, lane)
  return {
    rounds: () => Math.min(...answers),
    async stop() {
      stopped = true
      await Promise.all(lanes)
      return statuses
    },
  }
}

await t.test('no write is acknowledged while the standby is down', { skip, timeout: 600_000 }, async (t) => {
  const { pair, server } = await startOver(t, ['max_connections=40'])
  const { post } = server
  const onPrimary = pair.addressAt(pair.primary)
  gives(t, await post('addAndSet', { path: 'a', value: 1 }), '{"path":"a","created":true}', 'a topic')
  for (const path of ['cancelled', 'local', 'off', 'remote_write', 'last']) {
    gives(t, await post('addAndSet', { path, value: 1 }), `{"path":"${path}","created":true}`, 'a topic')
  }
  for (let i = 0; i < 64; i++) await post('addAndSet', { path: `old/${i}`, value: i })

  await t.test('while the standby is down, fetches continue and the engine has sessions left for others', async (t) => {
    await pair.standby.stop('SIGKILL')
    // Writes of every kind, because each kind has its own batches in flight.
    const writers = flood(server.connect(64), (i) => {
      switch (i % 4) {
        case 0:
          return ['set', { path: `old/${i % 64}`, value: i }]
        case 1:
          return ['remove', { path: `old/${i % 64}` }]
        case 2:
          return ['add', { path: `new/${i}`, type: 'json' }]
        default:
          return ['addAndSet', { path: `new/${i}`, value: i }]
      }
    })
    const readers = flood(server.connect(4), () => ['fetch', { path: 'a' }], 20)
    const counts: number[] = []
    await until('every writer was answered several times', async () => {
      const [row] = await execute(
        onPrimary,
        `select count(*) as count from pg_stat_activity where application_name = 'topicd'`,
      )
      counts.push(Number(row?.count))
      await sleep(500)
      return writers.rounds() >= roundsMin || undefined
    })
    const written = writers.stop()
    const read = await readers.stop()
    await pair.standby.start()
    t.strictSame([...read.keys()], [200], `all ${read.get(200)} fetches got 200`)
    t.ok(Math.max(...counts) <= 40 * 0.4, `the service had at most ${Math.max(...counts)} of 40 sessions`)
    t.notOk((await written).has(500), 'no write got 500')
    await until('a write succeeds', async () =>
      (await post('set', { path: 'a', value: 'back' })).status === 200 ? true : undefined,
    )
  })

  const cancelWaits = () =>
    execute(onPrimary, `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)

  /** Cancels the waits of all commits until a write is answered: a waiting commit keeps the order, for which others wait. */
  const untilCancelled = async (write: ReturnType<Client['post']>): ReturnType<Client['post']> => {
    let isAnswered = false
    void write.then(() => (isAnswered = true))
    await until('the write is answered', async () => {
      await cancelWaits()
      return isAnswered || undefined
    })
    return write
  }

  await t.test('a write whose wait is cancelled is not acknowledged', async (t) => {
    await pair.standby.stop('SIGKILL')
    const write = await untilCancelled(server.connect().post('set', { path: 'cancelled', value: 2 }))
    refuses(t, write, 503, 'unknown_outcome', 'committed on the primary, and perhaps nowhere else')
  })

  await t.test('a weaker synchronous_commit of the role has no effect', async (t) => {
    for (const weaker of ['local', 'off', 'remote_write']) {
      await execute(onPrimary, `set synchronous_commit = local; alter role topicd set synchronous_commit = '${weaker}'`)
      const options = { store: pair.address, workers: 1, check: false, token: server.token }
      const other = await startServer(t, { ...options, dataDir: `${t.testdirName}/${weaker}` })
      const write = await untilCancelled(other.connect().post('set', { path: weaker, value: 3 }))
      refuses(t, write, 503, 'unknown_outcome', `the standby is awaited despite ${weaker}`)
      await other.stop()
    }
  })

  await t.test('while a write waits for the standby, the service stops in time and without a warning', async (t) => {
    const write = await until('a write waits for the standby, and not for the order', async () => {
      await cancelWaits()
      const answer = await post('set', { path: 'last', value: 2 })
      return answer.code === 'store_unavailable' ? undefined : answer
    })
    refuses(t, write, 503, 'unknown_outcome', 'a write')
    t.strictSame(await server.stop(), { code: 0, signal: null })
    const stopping = server.log.findIndex(({ msg }) => msg === 'stopping')
    t.strictSame(
      server.log.slice(stopping).filter(({ level }) => Number(level) >= 40),
      [],
      'the service logs no warning',
    )
  })
})

await t.test('two hosts with eight workers each do not use up 100 sessions', { skip, timeout: 600_000 }, async (t) => {
  const { pair, server } = await startOver(t, ['max_connections=100'], 8)
  const options = { store: pair.address, workers: 8, check: false, token: server.token }
  const second = await startServer(t, { ...options, dataDir: `${t.testdirName}/second` })
  const lane = async (client: Client, lane: number): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      t.match(await client.post('addAndSet', { path: `${lane}/${i}`, value: i }), { status: 200 })
      t.match(await client.post('fetch', { path: `${lane}/${i}` }), { status: 200 })
    }
  }
  const clients = [server.connect(64), second.connect(64)]
  await Promise.all(clients.flatMap((client) => Array.from({ length: 64 }, (_, i) => lane(client, i))))
  const sessions = await execute(
    pair.addressAt(pair.primary),
    `select 1 from pg_stat_activity where application_name = 'topicd'`,
  )
  t.ok(sessions.length <= 78, `the hosts use ${sessions.length} of the 97 sessions`)
})

await t.test('a manual failover loses no acknowledged write', { skip, timeout: 600_000 }, async (t) => {
  const { pair, server } = await startOver(t)
  const client = server.connect(8)
  const acknowledged = new Set<string>()
  let stopped = false
  const lanes = Array.from({ length: client.connections }, async (_, lane) => {
    for (let i = 0; !stopped; i++) {
      const path = `${lane}/${i}`
      const { status } = await client.post('addAndSet', { path, value: path })
      if (status === 200) acknowledged.add(path)
    }
  })
  await until('some writes are acknowledged', async () => (acknowledged.size > 100 ? true : undefined))
  await pair.primary.stop('SIGKILL')
  const lostMs = performance.now()
  pair.standby.promote()
  await execute(pair.addressAt(pair.standby), `alter system set synchronous_standby_names = ''`)
  await execute(pair.addressAt(pair.standby), 'select pg_reload_conf()')
  const before = acknowledged.size
  await until('writes reach the new primary', async () => (acknowledged.size > before + 50 ? true : undefined))
  t.comment(`writes were back ${((performance.now() - lostMs) / 1000).toFixed(1)} s after the kill`)
  stopped = true
  await Promise.all(lanes)
  for (const path of acknowledged) {
    const { status } = await until('a fetch is answered', async () => {
      const answer = await server.post('fetch', { path })
      return answer.status === 503 ? undefined : answer
    })
    if (status !== 200) t.fail(`${path} was acknowledged and is missing`)
  }
  t.ok(acknowledged.size > before, `all ${acknowledged.size} acknowledged writes are there`)
})

await t.test('only the new primary is used while two primaries run', { skip, timeout: 600_000 }, async (t) => {
  const { pair, server } = await startOver(t)
  const { post } = server
  const [old, successor] = [pair.addressAt(pair.primary), pair.addressAt(pair.standby)]
  const start = (name: string, store: string, flags: readonly string[] = [], token = server.token): Promise<Server> =>
    startServer(t, { store, workers: 1, check: false, flags, token, dataDir: `${t.testdirName}/${name}` })
  gives(t, await post('addAndSet', { path: 'a', value: 'old' }), '{"path":"a","created":true}', 'a topic')
  const [fenced, plain] = [await start('fenced', old, ['--fenced-reads']), await start('plain', old)]
  const onStandby = await start('standby', successor, [], 'none')

  await t.test('a service whose only database host is a standby reports a missing primary', async (t) => {
    const reason = await until('/readyz gives the reason', async () => {
      const ready = await fetch(`${onStandby.adminUrl}/readyz`)
      return ready.status === 503 ? ready.text() : undefined
    })
    t.match(reason, /there is no primary, only a standby/)
    refuses(t, await onStandby.post('fetch', { path: 'a' }), 503, 'store_unavailable', 'no key is known yet')
  })

  gives(t, await fenced.post('fetch', { path: 'a' }), '{"path":"a","type":"json","value":"old"}', 'a fenced fetch')
  pair.standby.promote()

  await t.test('fenced reads are never stale', async (t) => {
    gives(
      t,
      await plain.post('fetch', { path: 'a' }),
      '{"path":"a","type":"json","value":"old"}',
      "an unfenced fetch returns the deposed primary's value",
    )
    const [fetched, page] = await Promise.all([
      fenced.connect().post('fetch', { path: 'a' }),
      fenced.connect().post('fetch', { selector: '>a' }),
    ])
    refuses(t, fetched, 503, 'store_unavailable', 'a fenced fetch is rejected')
    refuses(t, page, 503, 'store_unavailable', 'a fenced page is rejected')
  })

  await t.test('a service whose only database host is promoted becomes ready', async (t) => {
    await until('the host is the primary', async () =>
      (await fetch(`${onStandby.adminUrl}/readyz`)).status === 200 ? true : undefined,
    )
    t.equal((await onStandby.post('fetch', { path: 'a' })).status, 401, 'the keys are known')
  })

  await t.test('the deposed primary is no longer used', async (t) => {
    await execute(successor, `alter system set synchronous_standby_names = ''`)
    await execute(successor, 'select pg_reload_conf()')
    const other = await start('other', pair.address)
    gives(
      t,
      await other.post('addAndSet', { path: 'a', value: 'new' }),
      '{"path":"a","created":false}',
      'a new service writes to the successor',
    )
    // Each worker finds the successor on its own, and the client's connections are spread over the workers.
    await until('every worker of the old service reads the new value', async () => {
      const reads = await Promise.all(Array.from({ length: 64 }, () => post('fetch', { path: 'a' })))
      return reads.every(({ text }) => text.includes('new')) ? true : undefined
    })
    for (let i = 0; i < 200; i++) {
      const { text } = await post('fetch', { path: 'a' })
      assert(text.includes('new'), `a stale read: ${text}`)
    }
    t.pass('200 more reads are not stale')
  })
})

await t.test('fenced reads need a synchronous standby', { skip, timeout: 600_000 }, async (t) => {
  const store = (await (await postgres())?.database()) ?? ''
  const { code, stderr } = await runCommand([
    'serve',
    '--port',
    '0',
    '--admin-port',
    '0',
    '--store',
    store,
    '--data',
    t.testdir(),
    '--fenced-reads',
  ])
  t.not(code, 0)
  t.match(stderr, /fenced reads prove nothing without a synchronous standby: set synchronous_standby_names/)
})
