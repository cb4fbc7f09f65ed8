/**
 * Fail-overs of PostgreSQL under Patroni, with load from two hosts: `npm run test:patroni`. Each topic has one writer,
 * which writes increasing counts. A fetch over either host that begins after a write was acknowledged must return that
 * count or a later one. So lost writes and stale reads are both found, during the load and at its end. Readers of changes
 * keep their tokens over a switchover and over fail-overs: none of them misses anything, whichever host answers.
 */

import t, { type Test } from 'tap'
import { migratePostgresStore } from '../../dist/store/postgres/open.js'
import { at } from '../support/elements.js'
import { FollowedTree, limitedKey } from '../support/load/followed-tree.js'
import { reportResults } from '../support/proof-results.js'
import { seededRandom } from '../support/random.js'
import { type Server, startServer, until } from '../support/service/server.js'
import { PatroniCluster, patroniSkip } from '../support/stores/patroni.js'
import { execute } from '../support/stores/postgres-cluster.js'

const topics = 16

/** Writers and readers of all topics over two hosts, and what they observed. */
class Load {
  readonly acknowledged = new Array<number>(topics).fill(0)
  writes = 0
  fetches = 0
  stale = 0
  #stopped = false
  readonly #lanes: Promise<void>[]

  constructor(hosts: readonly Server[]) {
    this.#lanes = hosts.flatMap((host, index) => {
      const mine = Array.from({ length: topics / 2 }, (_, i) => 2 * i + index)
      const writer = host.connect(mine.length)
      const reader = host.connect(4)
      return [
        ...mine.map(async (topic) => {
          // A write without an answer may have taken effect, so the next one has a higher count in any case.
          for (let count = 1; !this.#stopped; count++) {
            const { status } = await writer.post('addAndSet', { path: `t/${topic}`, value: count })
            if (status !== 200) continue
            this.acknowledged[topic] = count
            this.writes++
          }
        }),
        ...Array.from({ length: 4 }, async (_, lane) => {
          for (let i = lane; !this.#stopped; i++) {
            const topic = i % topics
            const least = at(this.acknowledged, topic)
            const { status, text } = await reader.post('fetch', { path: `t/${topic}` })
            if (status !== 200) continue
            this.fetches++
            if ((JSON.parse(text) as { value: number }).value < least) this.stale++
          }
        }),
      ]
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#lanes)
  }
}

type Fault = readonly [name: string, fault: (node: number) => void, mend: (node: number) => void | Promise<void>]

/** Runs load over both hosts while the leader has the fault, until the cluster is healthy again. */
async function failOver(
  t: Test,
  cluster: PatroniCluster,
  hosts: readonly [Server, Server],
  [name, fault, mend]: Fault,
): Promise<void> {
  const leader = await cluster.healthy()
  const load = new Load(hosts)
  const seconds: string[] = []
  try {
    await until('load', async () => (load.acknowledged.every((count) => count > 10) ? true : undefined))
    fault(leader)
    const startedMs = performance.now()
    const passed = (): string => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    await until('another leader', async () => {
      const now = await cluster.leader()
      return now !== undefined && now !== leader ? true : undefined
    })
    seconds.push(passed())
    const { writes, fetches } = load
    await until('fetches', async () => (load.fetches > fetches + 100 ? true : undefined))
    seconds.push(passed())
    await until('writes', async () => (load.writes > writes + 100 ? true : undefined))
    seconds.push(passed())
    await mend(leader)
    await cluster.healthy()
  } finally {
    await load.stop()
  }
  let lost = 0
  for (const [topic, least] of load.acknowledged.entries()) {
    const { text } = await until('an answer', async () => {
      const answer = await hosts[0].post('fetch', { path: `t/${topic}` })
      return answer.status === 503 ? undefined : answer
    })
    if (!((JSON.parse(text) as { value: number }).value >= least)) lost++
  }
  t.comment(`| ${name} | ${load.writes} | ${lost} | ${load.fetches} | ${load.stale} | ${seconds.join(' | ')} |`)
  t.equal(lost, 0, `none of ${load.writes} acknowledged writes is lost`)
  t.equal(load.stale, 0, `none of ${load.fetches} fetches was stale`)
}

/** Resolves once another node leads, as Patroni says. */
async function succeeded(cluster: PatroniCluster, leader: number): Promise<void> {
  const another = async (): Promise<true | undefined> => {
    const now = await cluster.leader()
    return now !== undefined && now !== leader ? true : undefined
  }
  await until('another leader', another)
}

/** Readers of changes over both hosts, while the leader changes in good order, and while it has each fault. */
async function followChanges(
  t: Test,
  cluster: PatroniCluster,
  hosts: readonly [Server, Server],
  faults: readonly Fault[],
): Promise<void> {
  const random = seededRandom(t)
  const limited = await limitedKey(hosts[0])
  await hosts[1].knows(limited)
  // A token may be of a commit that its leader showed, and that its successor never had.
  const followed = new FollowedTree({ target: () => random.pick(hosts), limited, random, mayBeGone: true })
  const { tree } = followed
  const isWritten = async (): Promise<void> => {
    const { writes } = tree
    await until('writes', async () => (tree.writes > writes + 300 ? true : undefined))
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
  'fail-overs lose no acknowledged write, and no fetch is stale',
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
    for (const fault of [killed, frozen, patroniFrozen])
      await t.test(fault[0], (t) => failOver(t, cluster, [first, second], fault))
    await t.test('readers of changes', (t) =>
      followChanges(t, cluster, [first, second], [killed, frozen, patroniFrozen]),
    )

    // The engine of a leader whose Patroni is frozen still answers; only the fence keeps stale answers from clients.
    const options = {
      store: cluster.hostsAddress('topicd'),
      workers: 2,
      check: false,
      token,
      flags: ['--fenced-reads'],
    }
    const third = await startServer(t, { ...options, dataDir: `${t.testdirName}/third` })
    const fourth = await startServer(t, { ...options, dataDir: `${t.testdirName}/fourth` })
    for (const fault of [killed, patroniFrozen]) {
      await t.test(`${fault[0]}, without HAProxy, fenced`, (t) => failOver(t, cluster, [third, fourth], fault))
    }
  },
)
