/**
 * PostgreSQL is stopped or crashed under load, and started again. In the meantime requests get 503. Then the service recovers on its own,
 * and no acknowledged write is lost.
 */

import t from 'tap'
import { first } from '../support/elements.js'
import { Load } from '../support/load/load.js'
import { seededRandom } from '../support/random.js'
import { startServer, until } from '../support/service/server.js'
import { ownPostgres, skipReason } from '../support/stores/postgres.js'

/** Downtime of PostgreSQL, in ms. */
const awayMs = 700

const engine = await ownPostgres()
const skip = engine === undefined && skipReason

await t.test('restarts of PostgreSQL under load lose no acknowledged write', { skip, timeout: 150_000 }, async (t) => {
  if (engine === undefined) return
  const random = seededRandom(t)
  const server = await startServer(t, { workers: 2, store: await engine.database() })
  const load = new Load({
    connections: 16,
    topics: 20,
    random,
    target: () => ({ url: server.url, token: server.token }),
  })
  load.start()
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    await t.test(`requests get 503 after ${signal} until PostgreSQL is back`, async (t) => {
      const before = load.acknowledged
      await until('the load runs', async () => (load.acknowledged > before + 50 ? true : undefined))
      await engine.cluster.stop(signal)
      const stoppedMs = performance.now()
      const refusals = [
        await server.post('fetch', { path: 'load/0' }),
        await server.post('fetch', { selector: '*load//' }),
        await server.post('addAndSet', { path: 'load/0', value: 'x' }),
        await server.post('remove', { path: 'load/x' }),
      ]
      for (const { status, code, headers } of refusals) {
        t.equal(status, 503, `a request gets 503 (${code})`)
        t.ok(code === 'store_unavailable' || code === 'unknown_outcome', `the code is for a lost store: ${code}`)
        t.equal(headers['retry-after'], '1', 'the response has a time to retry')
      }
      t.equal(first(refusals).code, 'store_unavailable', 'the outcome of a read is never unknown')
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, awayMs - (performance.now() - stoppedMs))))
      await engine.cluster.start()
      const startedMs = performance.now()
      const recovered = load.acknowledged
      await until('writes succeed', async () => (load.acknowledged > recovered + 50 ? true : undefined))
      t.comment(`writes were acknowledged again within ${(performance.now() - startedMs).toFixed(0)} ms`)
    })
  }
  await load.stop()
  await until('the service is ready', async () =>
    (await fetch(`${server.adminUrl}/readyz`)).status === 200 ? true : undefined,
  )
  await load.readAll(server.client)
  t.comment(
    `${load.acknowledged} writes acknowledged, ${load.reads} reads, ${load.unanswered} without a response, ` +
      `refused ${JSON.stringify(Object.fromEntries(load.refused))}, slowest response ${load.slowest.ms.toFixed(0)} ms`,
  )
  t.strictSame(load.violations(), [], 'every history is linearizable: nothing lost, nothing stale, nothing resurrected')
  t.strictSame(load.versionFaults(), [], 'no version decreases, and each has one value')
  t.equal(load.unanswered, 0, 'every request was answered')
  t.ok(
    [...load.refused.keys()].every((name) => /^503 (store_unavailable|unknown_outcome)$/.test(name)),
    'refusals were 503 only',
  )
  t.equal(server.timesLogged('worker died'), 0, 'no worker died')
})
