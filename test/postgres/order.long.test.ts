/**
 * The order of commits on PostgreSQL, which one host holds at a time. A host that freezes while it holds the order soon loses it, together
 * with its pending commit. A host that gets the order too late commits nothing.
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { planSelector } from '../../dist/selectors/planner.js'
import { prepare } from '../../dist/store/core/write/operations.js'
import { StoreError } from '../../dist/store/errors.js'
import { Committer } from '../../dist/store/postgres/commit/committer.js'
import { Connections } from '../../dist/store/postgres/connection/connections.js'
import { migratePostgresStore, openPostgresStore } from '../../dist/store/postgres/open.js'
import type { TopicStore } from '../../dist/store/store.js'
import { storedForms, type WriteOperation } from '../../dist/store/topics.js'
import { only } from '../support/elements.js'
import { FaultProxy } from '../support/faults/fault-proxy.js'
import { freePorts } from '../support/machines/ports.js'
import { until } from '../support/service/server.js'
import { postgres, skipReason } from '../support/stores/postgres.js'
import { execute, findBinaries, OwnCluster } from '../support/stores/postgres-cluster.js'
import { creation, findingsOf, path, single } from '../support/stores/store.js'

const engine = await postgres()
const options = { skip: engine === undefined && skipReason, timeout: 600_000 } as const

const addAndSet = (topic: string, text: string): WriteOperation => ({
  kind: 'addAndSet',
  ...creation(topic),
  valueText: Buffer.from(text),
})
const set = (topic: string, text: string): WriteOperation => ({
  kind: 'set',
  path: path(topic),
  type: 'json',
  valueText: Buffer.from(text),
})
const increment: WriteOperation = { kind: 'increment', path: path('count'), type: 'json', valueText: Buffer.from('1') }

async function valueAt(store: TopicStore, topic: string): Promise<unknown> {
  const item = await store.readTopic(path(topic), storedForms.json)
  return typeof item === 'string' ? item : (JSON.parse(Buffer.from(item).toString()) as { value: unknown }).value
}

/** A database as if on another machine: it is reached over TCP, whose windows fill. */
async function remoteDatabase(t: Test): Promise<string> {
  const port = only(await freePorts(1))
  const cluster = new OwnCluster(findBinaries() ?? '', await mkdtemp(join(tmpdir(), 'topicd-order-')), port)
  t.teardown(() => cluster.remove())
  await cluster.make()
  await cluster.start()
  const address = cluster.address('postgres')
  await migratePostgresStore(address)
  return address
}

/** Two hosts, one of which reaches the engine through a proxy. */
async function openHosts(t: Test, address: string) {
  const proxy = await FaultProxy.start(t, address)
  const frozen = await openPostgresStore(proxy.addressOf(address))
  const other = await openPostgresStore(address)
  t.teardown(async () => {
    proxy.cut()
    await Promise.all([frozen.close(), other.close()])
  })
  return { proxy, frozen, other }
}

/** Returns undefined if the store is unavailable, for a retry. @throws any other error */
function orUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreError && error.kind === 'unavailable')) throw error
}

/** Bytes that a host with the order must read before it can commit: less, or more, than the connection buffers. */
const amounts = { 'little to read': 10, 'much to read': 8 * 1024 * 1024 }

for (const [amount, bytes] of Object.entries(amounts)) {
  await t.test(`a frozen host with ${amount} does not keep the order lock`, options, async (t) => {
    const address = await remoteDatabase(t)
    const { proxy, frozen, other } = await openHosts(t, address)
    const large = 'x'.repeat(bytes)
    await other.write([addAndSet('large', `"${large}"`), addAndSet('count', '0')])
    const constraint = { kind: 'value', text: Buffer.from(`"${large}"`) } as const
    const batch = [set('known', '4'), increment, { ...set('large', '5'), constraint }]

    /** Whether any session holds the order. */
    const isHeld = (): Promise<boolean> =>
      execute(address, `select from topicd.meta where name = 'order' for update nowait`).then(
        () => false,
        () => true,
      )

    /** Freezes the host after the engine gave it the order and before it learns so; undefined if it lost the order too soon. */
    async function freeze(): Promise<{ readonly late: Promise<unknown> } | undefined> {
      await frozen.write([addAndSet('known', '1')])
      // The host's knowledge is now outdated, so it must decide again once it has the order.
      await other.write([{ kind: 'remove', path: path('known'), valueText: undefined }, addAndSet('known', '2')])
      const isStopped = new Promise<void>((resolve) => {
        proxy.stopsReading = (sent) => {
          const stops = sent.includes('take_order')
          if (stops) resolve()
          return stops
        }
      })
      const late = frozen.write(batch).catch((error: unknown) => error)
      let hasEnded = false
      void late.then(() => {
        hasEnded = true
      })
      await Promise.race([isStopped, late])
      const holds = await until('the order is held', async () => (await isHeld()) || (hasEnded ? false : undefined))
      proxy.stopsReading = () => false
      if (holds) return { late }
      proxy.set('pass')
      return undefined
    }
    // A busy machine may be too slow for this.
    const { late } = await until('a host is frozen', () => freeze().catch(orUnavailable))
    let added = 0
    await until('the other host writes', async () => {
      const outcome = await other.write([increment]).catch(orUnavailable)
      return outcome && ++added
    })
    for (; added < 5; added++) await other.write([increment])
    proxy.set('pass')
    t.match(await late, { kind: 'unavailable' }, 'the late write is rejected')
    t.equal(await valueAt(other, 'known'), 2, 'the pending write had no effect')
    t.equal(await valueAt(other, 'count'), added, 'every acknowledged write is counted once')
    const again = await until('the host writes again', () => frozen.write([increment]).catch(orUnavailable))
    t.strictSame(again, [{ valueText: String(added + 1) }], 'the frozen host continues the count')
    t.strictSame(await findingsOf(other), [])
  })
}

/** Holds the order on the test's own connection until `end`. */
async function holdOrder(t: Test, address: string) {
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(`begin; select from topicd.meta where name = 'order' for update`)
  const clock = async (): Promise<number> =>
    Number(only((await client.query('select extract(epoch from clock_timestamp()) * 1000 as ms')).rows).ms)
  return {
    /** Resolves once another session has waited for the order for `ms` by the engine's clock. */
    async waited(ms: number): Promise<void> {
      const waiting = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%take_order%'`
      await until('a session waits', async () => (await execute(address, waiting)).length > 0 || undefined)
      const sinceMs = await clock()
      await until('the time has passed', async () => (await clock()) > sinceMs + ms || undefined)
    },
    end: () => client.query('commit'),
  }
}

await t.test('a removal that gets the order lock after its lease has expired removes nothing', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const { frozen: leader, other } = await openHosts(t, address)
  await single.add(other, creation('due', 'json', { REMOVAL: 'when time after 5' }))
  const holder = await holdOrder(t, address)
  const removal = leader.removeDue(planSelector).catch((error: unknown) => error)
  // The removal was decided within a lease of 3 s and waits for at most 4 s.
  await holder.waited(3100)
  await holder.end()
  t.match(await removal, { kind: 'unavailable' }, 'the late removal is rejected')
  t.equal(await valueAt(other, 'due'), undefined, 'the topic is still there')
  await until('the topic is removed in time', async () => {
    await other.removeDue(planSelector)
    return (await valueAt(other, 'due')) === 'no_such_topic' || undefined
  })
})

/** A committer, as in one process. Requests of one turn wait together. */
function openCommitter(t: Test, address: string): Committer {
  const connections = new Connections(address, 1)
  t.teardown(() => connections.close())
  return new Committer(connections, () => {})
}

/** The due time of a topic, and its version. */
async function dueAt(address: string, topic: string) {
  const { due, generation, version } = only(
    await execute(address, `select due, generation, version from topicd.topics where key = '${topic}'`),
  )
  return { due, version: Number(version), place: { atMs: Number(due), id: String(generation), path: path(topic) } }
}

await t.test('writes of a commit do not fail because a removal in it is rejected as too late', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const { other } = await openHosts(t, address)
  await single.add(other, creation('due', 'json', { REMOVAL: 'when time after 5' }))
  const { place } = await dueAt(address, 'due')
  const committer = openCommitter(t, address)
  const holder = await holdOrder(t, address)
  const removal = committer.commit({ due: [place], endsPolicies: false }, performance.now() + 1500)
  const refused = removal.catch((error: unknown) => error)
  const write = committer.commit({ operations: [prepare(addAndSet('a', '1'))], isAtomic: true })
  await holder.waited(1600)
  await holder.end()
  t.match(await refused, { kind: 'unavailable' }, 'the late removal is rejected')
  t.strictSame(await write, ['created'], 'the write succeeds')
})

await t.test('a removal policy ends even if its topic is updated in the same commit', options, async (t) => {
  const address = (await engine?.database()) ?? ''
  const { other } = await openHosts(t, address)
  await single.add(other, creation('policy', 'json', { REMOVAL: 'when time after 5 remove "?none//"' }))
  const { version, place } = await dueAt(address, 'policy')
  const committer = openCommitter(t, address)
  await Promise.all([
    committer.commit({ due: [place], endsPolicies: true }),
    committer.commit({ operations: [prepare(set('policy', '1'))], isAtomic: true }),
  ])
  const after = await dueAt(address, 'policy')
  t.equal(after.due, null, 'the policy has ended')
  t.ok(after.version > version, 'the topic is updated')
})
