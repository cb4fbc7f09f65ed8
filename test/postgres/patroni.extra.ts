/**
 * Failovers of PostgreSQL under Patroni, with load from two hosts: `npm run test:patroni`. No acknowledged write is lost and no read is
 * stale, during the load and at its end. Readers of changes keep their tokens across a switchover and failovers, and miss nothing,
 * regardless of which host responds.
 */

import t, { type Test } from 'tap'
import { migratePostgresStore } from '../../dist/store/postgres/open.js'
import { FollowedTree, limitedKey } from '../support/load/followed-tree.js'
import { Load } from '../support/load/load.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { PatroniCluster, patroniSkip } from '../support/stores/patroni.js'
import { execute } from '../support/stores/postgres-cluster.js'

type Hosts = readonly [Server, Server]
type Fault = readonly [name: string, fault: (node: number) => void, mend: (node: number) => void | Promise<void>]

/** Runs load over both hosts while the leader has each fault, until the cluster is healthy again. */
async function failOver(t: Test, cluster: PatroniCluster, hosts: Hosts, faults: readonly Fault[]): Promise<void> {
  const random = seededRandom(t)
  await hosts[0].post('remove', { selector: '*load//' })
  const load = new Load({ connections: 24, topics: 16, random, target: (connection) => hosts[connection % 2] })
  load.start()
  for (const [name, fault, mend] of faults) {
    const leader = await cluster.healthy()
    const more = (what: 'acknowledged' | 'reads', count: number): Promise<true> => {
      const before = load[what]
      return until(what, async () => (load[what] > before + count ? true : undefined))
    }
    await more('acknowledged', 200)
    fault(leader)
    const startedMs = performance.now()
    const passed = (): string => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    const seconds: string[] = []
    for (const step of [() => succeeded(cluster, leader), () => more('reads', 100), () => more('acknowledged', 100)]) {
      await step()
      seconds.push(passed())
    }
    await mend(leader)
    await cluster.healthy()
    t.comment(`| ${name} | ${load.acknowledged} | ${load.reads} | ${seconds.join(' | ')} |`)
  }
  await load.stop()
  await load.readAll(hosts[0].client)
  t.strictSame(load.violations(), [], 'nothing lost, nothing stale')
}

/** Resolves once Patroni reports another leader. */
async function succeeded(cluster: PatroniCluster, leader: number): Promise<void> {
  const another = async (): Promise<true | undefined> => {
    const now = await cluster.leader()
    return now !== undefined && now !== leader ? true : undefined
  }
  await until('there is another leader', another)
}

/** Runs readers of changes over both hosts during a switchover and each fault of the leader. */
async function followChanges(t: Test, cluster: PatroniCluster, hosts: Hosts, faults: readonly Fault[]): Promise<void> {
  const random = seededRandom(t)
  const limited = await limitedKey(hosts[0])
  await hosts[1].knows(limited)
  // A token may belong to a commit that the leader showed and its successor never had.
  const followed = new FollowedTree({ target: () => random.pick(hosts), limited, random, mayBeGone: true })
  const { tree } = followed
  const isWritten = async (): Promise<void> => {
    const { writes } = tree
    await until('writes are acknowledged', async () => (tree.writes > writes + 300 ? true : undefined))
  }
  const switched: Fault = [
    'switchover',
    (node) => void cluster.switchOver(node).then((answer) => t.comment(answer)),
    () => {},
  ]
  for (const [name, fault, mend] of [switched, ...faults]) {
    const leader = await cluster.healthy()
    await isWritten()
    fault(leader)
    await succeeded(cluster, leader)
    await isWritten()
    await mend(leader)
    await cluster.healthy()
    t.comment(`${name}: ${JSON.stringify(followed.results())}`)
  }
  await followed.stop()
  await followed.check(t, hosts[1])
  reportResults(t, followed.results())
}

await t.test(
  'failovers lose no acknowledged write, and no fetch is stale',
  { skip: patroniSkip, timeout: 900_000 },
  async (t) => {
    const cluster = await PatroniCluster.start(t)
    await execute(cluster.address('postgres'), `create database topicd encoding 'UTF8' template template0`)
    const store = cluster.address('topicd')
    await migratePostgresStore(store)
    const killed: Fault = [
      'leader killed',
      (node) => cluster.signal(node, 'SIGKILL', 'all'),
      (node) => cluster.startNode(node),
    ]
    const frozen: Fault = [
      'leader frozen',
      (node) => cluster.signal(node, 'SIGSTOP', 'all'),
      (node) => cluster.thaw(node),
    ]
    const patroniFrozen: Fault = [
      'Patroni frozen',
      (node) => cluster.signal(node, 'SIGSTOP', 'patroni'),
      (node) => cluster.thaw(node),
    ]

    const first = await startServer(t, { store, workers: 2, check: false })
    const { token } = first
    const second = await startServer(t, { store, workers: 2, check: false, token, dataDir: `${t.testdirName}/second` })
    await t.test('under load on both hosts, nothing is lost or stale', (t) =>
      failOver(t, cluster, [first, second], [killed, frozen, patroniFrozen]),
    )
    await t.test('readers of changes miss no change during failovers', (t) =>
      followChanges(t, cluster, [first, second], [killed, frozen, patroniFrozen]),
    )

    // The engine still responds if only Patroni on its node is frozen. Then only the fence keeps stale responses from clients.
    const options = {
      store: cluster.hostsAddress('topicd'),
      workers: 2,
      check: false,
      token,
      flags: ['--fenced-reads'],
    }
    const third = await startServer(t, { ...options, dataDir: `${t.testdirName}/third` })
    const fourth = await startServer(t, { ...options, dataDir: `${t.testdirName}/fourth` })
    await t.test('under load with fenced reads and without HAProxy, nothing is lost or stale', (t) =>
      failOver(t, cluster, [third, fourth], [killed, patroniFrozen]),
    )
  },
)
