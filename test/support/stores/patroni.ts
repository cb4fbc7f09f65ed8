/**
 * A PostgreSQL that fails over automatically, set up as in docs/postgresql.md: etcd, three nodes under Patroni in strict synchronous mode,
 * and HAProxy, which connects to the current leader. It uses Debian's packages, and its own directory and ports.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { at } from '../elements.js'
import { freePorts } from '../machines/ports.js'
import { descendantsOf, signalAll } from '../machines/processes.js'
import { tied } from '../tied.js'
import { execute, findBinaries } from './postgres-cluster.js'

const programs = ['/usr/bin/patroni', '/usr/sbin/haproxy', '/usr/bin/etcd']

/** Why the tests are skipped; false if everything is installed. */
export const patroniSkip =
  process.getuid?.() === 0 && findBinaries() !== undefined && programs.every((program) => existsSync(program))
    ? false
    : "NO PATRONI: run as root, with Debian's packages patroni, haproxy, etcd-server and postgresql"

const nodes = [1, 2, 3]

/** Time limit for the cluster to become healthy, in ms: a killed node may have to be rewound first. */
const healthyMsMax = 180_000

/** Time that a deposed leader's engine runs alongside its successor before its Patroni is restarted, in ms. */
const deposedMs = 3000

/** The ports of all programs; `postgres` and `patroni` are indexed by node number. */
interface Ports {
  readonly etcd: number
  readonly etcdPeers: number
  readonly haproxy: number
  readonly postgres: Readonly<Record<number, number>>
  readonly patroni: Readonly<Record<number, number>>
}

async function choosePorts(): Promise<Ports> {
  const [etcd = 0, etcdPeers = 0, haproxy = 0, ...others] = await freePorts(3 + 2 * nodes.length)
  const byNode = (from: number): Record<number, number> =>
    Object.fromEntries(nodes.map((node, index) => [node, at(others, from + index)]))
  return { etcd, etcdPeers, haproxy, postgres: byNode(0), patroni: byNode(nodes.length) }
}

function patroniConfig(node: number, ports: Ports, directory: string, binaries: string): string {
  return `
scope: topicd
name: n${node}
restapi: { listen: "127.0.0.1:${ports.patroni[node]}", connect_address: "127.0.0.1:${ports.patroni[node]}" }
etcd3: { host: "127.0.0.1:${ports.etcd}" }
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 100 }
  initdb: [ { encoding: UTF8 }, { locale: C } ]
  pg_hba: [ "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust", "local all all trust" ]
postgresql:
  listen: 127.0.0.1:${ports.postgres[node]}
  connect_address: 127.0.0.1:${ports.postgres[node]}
  data_dir: ${directory}/n${node}
  bin_dir: ${binaries}
  pgpass: ${directory}/pgpass${node}
  authentication:
    superuser: { username: postgres, password: none }
    replication: { username: replicator, password: none }
    rewind: { username: postgres, password: none }
  parameters: { unix_socket_directories: "${directory}" }
`
}

function haproxyConfig(ports: Ports): string {
  const servers = nodes.map(
    (node) => `  server n${node} 127.0.0.1:${ports.postgres[node]} check port ${ports.patroni[node]}`,
  )
  return `
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
listen primary
  bind 127.0.0.1:${ports.haproxy}
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
}

/** The user or group id of the account that the engine runs as; PostgreSQL does not run as root. */
function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }))
}

export class PatroniCluster {
  readonly #directory: string
  readonly #ports: Ports
  readonly #processes = new Map<string, ChildProcess>()

  private constructor(directory: string, ports: Ports) {
    this.#directory = directory
    this.#ports = ports
  }

  /** Starts everything, until the test ends. */
  static async start(t: Test): Promise<PatroniCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'topicd-patroni-'))
    await chown(directory, idOf('-u'), idOf('-g'))
    const cluster = new PatroniCluster(directory, await choosePorts())
    t.teardown(() => cluster.#remove())
    // An aborted test must not leave a cluster behind.
    process.once('exit', () => cluster.#kill())
    await cluster.#startAll(dirname(join(findBinaries() ?? '', 'postgres')))
    return cluster
  }

  /** The address of the current leader, through HAProxy. */
  address(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.#ports.haproxy}/${database}`
  }

  /** The address of all nodes, without HAProxy. */
  hostsAddress(database: string): string {
    return `postgres://postgres@${nodes.map((node) => `127.0.0.1:${this.#ports.postgres[node]}`).join(',')}/${database}`
  }

  /** The number of the leader node; undefined while there is no leader. */
  async leader(): Promise<number | undefined> {
    for (const node of nodes) {
      const answer = await fetch(`http://127.0.0.1:${this.#ports.patroni[node]}/primary`, {
        signal: AbortSignal.timeout(1000),
      }).catch(() => undefined)
      if (answer?.status === 200) return node
    }
    return undefined
  }

  /** Makes a standby the leader by an orderly switchover. Resolves with Patroni's response, which may arrive before or after that. */
  async switchOver(leader: number): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.patroni[leader]}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: `n${leader}` }),
    })
    return `${answer.status} ${await answer.text()}`
  }

  /** Resolves with the leader when both other nodes follow it and Patroni would let one of them succeed it. */
  async healthy(): Promise<number> {
    for (const endMs = Date.now() + healthyMsMax; Date.now() < endMs; await sleep(500)) {
      const node = await this.leader()
      if (node === undefined) continue
      const { members } = await this.#state(node)
      const standbys = members.filter(
        ({ state, role }) => role !== 'leader' && (state === 'running' || state === 'streaming'),
      )
      if (standbys.length === nodes.length - 1 && standbys.some(({ role }) => role === 'sync_standby')) return node
    }
    const logs = [...this.#processes.keys()].map(
      (name) => `${name}:\n${readFileSync(this.#logFile(name), 'utf8').slice(-2000)}`,
    )
    throw new Error(`the cluster does not become healthy\n${logs.join('\n')}`)
  }

  /** Sends a signal to a node's Patroni, and with 'all' also to its PostgreSQL. */
  signal(node: number, signal: NodeJS.Signals, what: 'all' | 'patroni'): void {
    const patroni = this.#processes.get(`n${node}`)?.pid
    const pids = patroni === undefined ? [] : [...descendantsOf(patroni), patroni]
    const engine = what === 'all' ? this.#engineOf(node) : []
    // Signal the postmaster before its children, so that it starts no new ones.
    signalAll([...engine, ...pids], signal)
  }

  /**
   * Lets a frozen node's engine continue, and restarts its Patroni as a watchdog would. Otherwise, after a long freeze, Patroni 3.0 may
   * take the leader key from its successor, and undo its successor's commits.
   */
  async thaw(node: number): Promise<void> {
    signalAll(this.#engineOf(node), 'SIGCONT')
    await sleep(deposedMs)
    this.signal(node, 'SIGKILL', 'patroni')
    this.startNode(node)
  }

  /** Starts a node whose processes were killed. */
  startNode(node: number): void {
    this.#spawn(`n${node}`, ['patroni', join(this.#directory, `n${node}.yml`)], { uid: idOf('-u'), gid: idOf('-g') })
  }

  async #startAll(binaries: string): Promise<void> {
    const client = `http://127.0.0.1:${this.#ports.etcd}`
    const peer = `http://127.0.0.1:${this.#ports.etcdPeers}`
    await mkdir(join(this.#directory, 'etcd'))
    const listen = ['client', 'peer'].map((kind) => [`--listen-${kind}-urls`, kind === 'client' ? client : peer])
    const advertise = ['--advertise-client-urls', client, '--initial-advertise-peer-urls', peer]
    const own = ['--name', 'one', '--data-dir', join(this.#directory, 'etcd'), '--initial-cluster', `one=${peer}`]
    this.#spawn('etcd', ['etcd', ...own, ...listen.flat(), ...advertise])
    for (const node of nodes) {
      await writeFile(
        join(this.#directory, `n${node}.yml`),
        patroniConfig(node, this.#ports, this.#directory, binaries),
      )
      this.startNode(node)
    }
    const haproxy = join(this.#directory, 'haproxy.cfg')
    await writeFile(haproxy, haproxyConfig(this.#ports))
    this.#spawn('haproxy', ['haproxy', '-db', '-f', haproxy])
    await this.healthy()
    // HAProxy checks the nodes once a second.
    for (;;) {
      const answered = await execute(this.address('postgres'), 'select 1').catch(() => undefined)
      if (answered !== undefined) return
      await sleep(200)
    }
  }

  /** Starts a program whose output goes to a log file with this name. */
  #spawn(
    name: string,
    [command, ...args]: readonly [string, ...string[]],
    account: { readonly uid?: number; readonly gid?: number } = {},
  ): void {
    const log = openSync(this.#logFile(name), 'a')
    this.#processes.set(
      name,
      spawn(...tied(command, args), { cwd: this.#directory, stdio: ['ignore', log, log], ...account }),
    )
    closeSync(log)
  }

  #logFile(name: string): string {
    return join(this.#directory, `${name}.log`)
  }

  /** The cluster as a node's Patroni sees it. */
  async #state(node: number): Promise<{ members: { role: string; state: string }[] }> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.patroni[node]}/cluster`, {
      signal: AbortSignal.timeout(1000),
    }).catch(() => undefined)
    return answer?.status === 200
      ? ((await answer.json()) as { members: { role: string; state: string }[] })
      : { members: [] }
  }

  /** The processes of a node's PostgreSQL, the postmaster first; empty if it is not running. */
  #engineOf(node: number): number[] {
    const file = join(this.#directory, `n${node}`, 'postmaster.pid')
    const postmaster = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : NaN
    return Number.isNaN(postmaster) ? [] : [postmaster, ...descendantsOf(postmaster)]
  }

  #kill(): void {
    for (const node of nodes) {
      this.signal(node, 'SIGCONT', 'all')
      this.signal(node, 'SIGKILL', 'all')
    }
    for (const child of this.#processes.values()) child.kill('SIGKILL')
  }

  async #remove(): Promise<void> {
    this.#kill()
    await sleep(500)
    await rm(this.#directory, { recursive: true, force: true })
  }
}
