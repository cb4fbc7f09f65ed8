/**
 * Every workload of the benchmarks still runs, briefly and on little data, and all its responses are correct. Otherwise benchmarks that run
 * only once a year would break unnoticed. The figures mean nothing here.
 */
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import root, { type Test, test } from 'tap'
import { skipReason } from '../support/stores/postgres.js'
import { hasPostgres } from '../support/stores/postgres-pair.js'

const main = join(import.meta.dirname, '../../dist-bench/main.js')

/** The part of the benchmark's JSON that is checked here. */
interface Report {
  readonly results: readonly {
    readonly workload: string
    readonly outcomes: readonly {
      readonly server: string
      readonly rounds: readonly object[]
      readonly problem?: string
    }[]
  }[]
}

/** The environment without tap's loader, with which each start of a server takes seconds. */
const plainEnvironment = { ...process.env, NODE_OPTIONS: '' }

const stdoutBytesMax = 64 * 1024 * 1024

/** The directory of the runs; they share the loaded data in it, so only one runs at a time. */
const base = mkdtempSync(join(tmpdir(), 'topicd-bench-test-'))
// PostgreSQL runs as another account.
chmodSync(base, 0o755)
root.teardown(() => rmSync(base, { recursive: true, force: true }))

/** @param args starting with the command, if any; @returns the printed output */
async function run(...args: string[]): Promise<string> {
  const command = [main, ...args, '--smoke', '--dir', base, '--keep', join(base, 'kept')]
  const options = { env: plainEnvironment, maxBuffer: stdoutBytesMax }
  return (await promisify(execFile)(process.execPath, command, options)).stdout
}

async function smoke(...args: string[]): Promise<Report['results']> {
  return (JSON.parse(await run(...args, '--json')) as Report).results
}

function checkResults(t: Test, results: Report['results'], servers: readonly string[]): void {
  for (const { workload, outcomes } of results) {
    t.strictSame(
      outcomes.map(({ server }) => server),
      servers,
      `${workload}: all servers take part`,
    )
    for (const { server, rounds, problem } of outcomes) {
      t.equal(problem, undefined, `${workload}: every response of ${server} is correct`)
      t.equal(rounds.length, 1, `${workload}: ${server} has a figure`)
    }
  }
}

/** A few workloads run here with other servers as well: most of the time is spent on starting and stopping servers. */
const runs = [
  {
    names: 'topicd',
    servers: ['topicd'],
    workloads: [
      ...['fetch-path', 'page-10', 'page-100', 'paths-100', 'overwrite-1', 'overwrite-64', 'overwrite-256'],
      ...['add-remove', 'many-publishers', 'big-fetch', 'batch-100', 'batch-1000', 'cas', 'increment', 'set-one'],
      ...['list-children', 'subtree-shallow', 'subtree-deep', 'split-path-skip', 'literal-prefix', 'scan-nothing'],
      'fetch-beside-scan',
    ],
  },
  {
    names: 'bare,topicd,fastify',
    servers: ['bare', 'topicd', 'fastify + lmdb'],
    workloads: ['mixed-90-10', 'deep-cursor', 'big-overwrite'],
  },
]

for (const { names, servers, workloads } of runs) {
  test(`all responses of ${names} are correct: ${workloads.join(', ')}`, async (t) => {
    const results = await smoke('--servers', names, ...workloads)
    t.strictSame(
      results.map(({ workload }) => workload),
      workloads,
      'no workload is left out',
    )
    checkResults(t, results, servers)
  })
}

test('the help lists exactly the tested workloads', async (t) => {
  const [, list = ''] = /^workloads.*?:\n(.*?)\n\n/ms.exec(await run('--help')) ?? []
  const offered = list.split('\n').map((line) => line.trim().split(' ')[0])
  t.strictSame(offered.toSorted(), runs.flatMap(({ workloads }) => workloads).toSorted())
})

const peerPrograms = ['redis-server', 'webdis', 'etcd']
const missing = peerPrograms.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0)
const skip = missing.length > 0 && `NOT INSTALLED: ${missing.join(', ')}`

/** The other commands, and the lines that each prints. */
const figures: readonly (readonly [args: readonly string[], lines: readonly RegExp[]])[] = [
  [
    ['growth'],
    ['topics', 'bytes per value', 'connections', 'workers', 'items per page'].map(
      (axis) => new RegExp(`^${axis}: `, 'm'),
    ),
  ],
  [['profile', 'fetch-path', '--output', join(base, 'profiles')], [/\.cpuprofile: busy for /]],
  [
    ['changes'],
    [
      /^same +20 streams, topicd +[\d.-]+ µs CPU per event, [\d.-]+ × bare$/m,
      /^own +20 streams, topicd /m,
      /^a write alongside 20 streams that do not match it: [\d.]+ ×$/m,
      /^an event arrives [\d.]+ ms after its commit was due/m,
      /^the longest fetch during an event for 20 streams: [\d.]+ ms$/m,
    ],
  ],
  [
    ['gzip'],
    [/^100 records +plain +\d+ +\d+ µs( +[\d.]+ ms){3}$/m, /^100 records +--gzip +\d+ +\d+ µs( +[\d.]+ ms){3} /m],
  ],
  [
    ['upload'],
    [
      ...['created in tree order', 'overwritten in tree order', 'overwritten in no order'].map(
        (order) =>
          new RegExp(`^${order} +topicd +10,000 operations in [\\d.]+ s, [\\d,]+ per second, [\\d.]+ µs CPU each`, 'm'),
      ),
      ...(skip === false ? [/^overwritten in no order +redis +10,000 operations in /m] : []),
      ...(skip === false ? [/^overwritten in no order +etcd +1,000 operations in .*, in transactions of 128$/m] : []),
    ],
  ],
  [
    ['postgres', 'overwrite-256', 'page-10'],
    [
      /^ {2}postgres /m,
      /^ {2}postgres-unbatched /m,
      /^ {2}fastify \+ pg /m,
      /requests per commit/,
      /single-row upserts\/s/,
      /batching reaches/,
    ],
  ],
  [
    ['fenced', 'mixed-90-10'],
    [/^ {2}postgres-standby /m, /^ {2}postgres-fenced /m],
  ],
  [
    ['idle'],
    [/^100 idle connections: [\d.-]+ KiB of anonymous memory each\n2,000 fetches per second: .* alongside them/m],
  ],
]

// The benchmarks start their own PostgreSQL.
const noPostgres = !hasPostgres && skipReason

for (const [args, lines] of figures) {
  const skip = /^(postgres|fenced)$/.test(args[0] ?? '') && noPostgres
  test(`the command ${args[0]} prints its figures`, { skip, timeout: 600_000 }, async (t) => {
    const stdout = await run(...args)
    t.notMatch(stdout, /NO FIGURES|WRONG/, 'every response is correct')
    for (const line of lines) t.match(stdout, line, String(line))
  })
}

test('all responses of the peers are correct', { skip }, async (t) => {
  const storing = ['bare', 'topicd', 'redis + webdis', 'etcd']
  const words = ['--servers', 'bare,topicd,redis,etcd']
  const shared = ['paths-100', 'batch-100', 'batch-1000', 'cas', 'increment', 'set-one']
  checkResults(t, await smoke(...words, ...shared), storing)
  const listing = ['--servers', 'bare,topicd,redis', 'list-children']
  checkResults(t, await smoke(...listing), storing.slice(0, 3))
})

test('a comparison of two revisions and a peer gets only correct responses', async (t) => {
  const compared = await smoke('compare', '.', '.', 'overwrite-64', '--peers', 'fastify')
  checkResults(t, compared, ['bare', 'base', 'change', 'fastify + lmdb'])
})

test('all responses of two workers are correct', async (t) => {
  checkResults(t, await smoke('--servers', 'bare,topicd', '--workers', '2', 'mixed-90-10'), ['bare', 'topicd'])
})
