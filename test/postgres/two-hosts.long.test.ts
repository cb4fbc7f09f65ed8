/**
 * Two hosts on one PostgreSQL. Each shows the writes that the other has acknowledged, a key revoked on one is rejected by the other within
 * a second, and exactly one of them evaluates removals. If that host is killed, the other takes over.
 */

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { at, only } from '../support/elements.js'
import { gives } from '../support/expected-answers.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute } from '../support/stores/postgres-cluster.js'

const engine = await postgres()

await t.test('two hosts serve one tree', { skip: engine === undefined && skipReason, timeout: 600_000 }, async (t) => {
  const store = (await engine?.database()) ?? ''
  const directory = t.testdir()
  let token: string | undefined

  async function start(host: string): Promise<Server> {
    const dataDir = join(directory, host)
    const server = await startServer(t, { workers: 2, store, dataDir, token, exitCode: undefined, check: false })
    token = server.token
    return server
  }
  const first = await start('first')
  const second = await start('second')

  await t.test('a write acknowledged by one host is visible on the other', async (t) => {
    const stale: string[] = []
    async function lane(number: number): Promise<void> {
      const [here, there] = number % 2 === 0 ? [first, second] : [second, first]
      const path = `lane/${number}`
      for (let value = 0; value < 40; value++) {
        const written = await here.post('addAndSet', { path, value })
        const read = await there.post('fetch', value % 2 === 0 ? { path } : { selector: `*${path}//` })
        const item = `{"path":"${path}","type":"json","value":${value}}`
        if (written.status !== 200 || !read.text.includes(item)) stale.push(`${written.text} ${read.text}`)
        if (value % 8 > 0) continue
        await there.post('remove', { path })
        const gone = await here.post('fetch', { path })
        if (gone.code !== 'no_such_topic') stale.push(gone.text)
      }
    }
    await Promise.all(Array.from({ length: 16 }, (_, number) => lane(number)))
    t.strictSame(stale, [])
  })

  await t.test('exactly one of concurrent writers on both hosts creates a topic', async (t) => {
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) =>
          (i % 2 === 0 ? first : second).post('addAndSet', { path: `meet/${round}`, value: i }),
        ),
      )
      t.equal(answers.filter(({ text }) => text.includes('"created":true')).length, 1, `round ${round}`)
    }
  })

  await t.test('an API key is valid on both hosts, and its revocation applies to both', async (t) => {
    const key = await first.addKey('shared')
    const client = second.connect(6, key)
    const isKnown = async (): Promise<true | undefined> =>
      (await client.post('fetch', { selector: '>none' })).status === 200 ? true : undefined
    await until('the key is known', isKnown)
    const revoked = await second.command('keys', 'revoke', 'shared')
    t.equal(revoked.code, 0, 'the key is revoked on the second host')
    for (const server of [first, second]) {
      const own = server.connect(12, key)
      await until('every worker rejects the key', async () => {
        const answers = await Promise.all(Array.from({ length: 12 }, () => own.post('fetch', { selector: '>none' })))
        return answers.every(({ status }) => status === 401) || undefined
      })
    }
  })

  await t.test('one host evaluates removal policies, and the other takes over if that host is killed', (t) =>
    evaluators(t, store, first, second),
  )
})

async function evaluators(t: Test, store: string, first: Server, second: Server): Promise<void> {
  const removals = (server: Server): number =>
    server.log
      .filter(({ msg }) => msg === 'topics removed by their policies')
      .reduce((sum, { removed }) => sum + Number(removed), 0)

  /** Creates topics that are due soon, over these hosts; resolves once all are removed. */
  async function round(name: string, servers: readonly Server[]): Promise<void> {
    // New connections, because connections idle for long may be closed at any moment.
    const clients = servers.map((server) => server.connect(4))
    const createdMs = Date.now()
    const properties = { REMOVAL: 'when no updates for 1s' }
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        at(clients, i % clients.length).post('addAndSet', { path: `due/${name}/${i}`, value: i, properties }),
      ),
    )
    const early = await at(clients, 0).post('fetch', { selector: `*due/${name}//`, size: 1000 })
    if (Date.now() - createdMs < 1000)
      t.equal(JSON.parse(early.text).results.length, 20, `${name}: no topic is removed early`)
    const empty = '{"has_more":false,"results":[]}'
    await until('the topics are removed', async () =>
      (await at(clients, 0).post('fetch', { selector: `*due/${name}//` })).text === empty ? true : undefined,
    )
    t.ok(Date.now() - createdMs >= 1000, `${name}: the topics were removed after ${Date.now() - createdMs} ms`)
  }

  const holder = async (): Promise<unknown> =>
    only(await execute(store, `select holder from topicd.leases where name = 'removals'`)).holder
  const holders = new Set<unknown>()
  for (const name of ['one', 'two', 'three']) {
    await round(name, [first, second])
    holders.add(await holder())
  }
  t.equal(holders.size, 1, 'one process held the lease throughout')
  await until('the removals are logged', async () => (removals(first) + removals(second) === 60 ? true : undefined))
  const counts = [removals(first), removals(second)].sort((a, b) => a - b)
  t.strictSame(counts, [0, 60], 'one host removed all topics, the other none')

  const [evaluator, other] = removals(first) === 60 ? [first, second] : [second, first]
  process.kill(evaluator.pid, 'SIGKILL')
  await evaluator.exited
  await round('after its end', [other])
  await until('the removals are logged', async () => (removals(other) === 20 ? true : undefined))
  t.notOk(holders.has(await holder()), 'the other host holds the lease now')
  gives(
    t,
    await other.connect().post('fetch', { selector: '*due//' }),
    '{"has_more":false,"results":[]}',
    'no topic is left',
  )
}
