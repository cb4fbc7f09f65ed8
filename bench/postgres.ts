/**
 * What does the same service cost on PostgreSQL, and what do rounds gain? Beside topicd on lmdb, interleaved: topicd on
 * PostgreSQL, the same with a statement for each request, and the obvious server over PostgreSQL. Then, on the same
 * engine: pgbench's own single-row upsert as the floor of such a statement, and how many requests shared a commit.
 *
 *     node dist-bench/postgres.js [WORKLOAD…] [options of npm run bench]
 *
 * It ends with 1 unless overwrites over 256 connections reach three times what a statement for each request reaches.
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bare } from './contenders/bare.js'
import { fastifyPostgres } from './contenders/fastify-postgres.js'
import { type PostgresRunning, postgres, postgresEach } from './contenders/postgres.js'
import { binaries, query } from './contenders/postgres-engine.js'
import { thisBuild, topicd } from './contenders/topicd.js'
import { house } from './measure/home.js'
import { burst, measure, type Outcome, type Result } from './measure/interleave.js'
import { median } from './measure/statistics.js'
import { type Options, program, readOptions, UsageError } from './options.js'
import { resultLines } from './report/table.js'
import { type Session, scaleOf, withSession } from './session.js'
import { Tree } from './work/tree.js'
import { overwrite256 } from './workloads/overwrite.js'

/** How much rounds have to gain. */
const gainMin = 3

/** Connections of pgbench: more gained nothing where this was tried. */
const floorConnections = [16, 64]

const usual = ['overwrite-1', 'overwrite-64', 'overwrite-256', 'mixed-90-10', 'fetch-path', 'page-10', 'subtree-deep']

await program(async () => {
  const argv = process.argv.slice(2)
  const asked = readOptions(argv)
  const options = argv.some((word) => word === asked.workloads[0]?.name) ? asked : readOptions([...usual, ...argv])
  const grouped = postgres()
  if (grouped.missing !== undefined) throw new UsageError(`this needs PostgreSQL: ${grouped.missing}`)
  const contenders = [bare, await topicd(thisBuild), grouped, postgresEach(), fastifyPostgres()]
  return withSession(options, contenders, async (session) => {
    const { measuring, say } = session
    const results: Result[] = []
    for (const workload of options.workloads) {
      const result = await measure(workload, scaleOf(workload, options), contenders, measuring)
      results.push(result)
      say(`\n${resultLines(result).join('\n')}`)
    }
    await showFloor(options, session)
    const gains = results.flatMap((result) => gainOf(result))
    for (const { workload, gain, cpuGain } of gains) {
      const words = `rounds reach ${gain.toFixed(1)} times what a statement for each request reaches`
      say(`${workload}: ${words}, for ${cpuGain.toFixed(1)} times less CPU a request, the engine's included`)
    }
    const overwrites = gains.find(({ workload }) => workload === overwrite256.name)
    const right = results.every((result) => result.outcomes.every(({ problem }) => problem === undefined))
    return right && (options.smoke || overwrites === undefined || overwrites.gain >= gainMin)
  })
})

/** What rounds gain over single statements: requests per second, and CPU time a request, medians over the interleaved bursts. */
function gainOf({ workload, outcomes }: Result): { workload: string; gain: number; cpuGain: number }[] {
  const of = (name: string): Outcome['rounds'] => outcomes.find(({ contender }) => contender === name)?.rounds ?? []
  const [rounds, each] = [of('postgres'), of('postgres-each')]
  const pairs = rounds.slice(0, each.length).map((round, i) => [round, each[i]] as const)
  if (pairs.length === 0) return []
  const gain = median(pairs.map(([round, single]) => round.requestsPerSecond / single.requestsPerSecond))
  const cpuGain = median(pairs.map(([round, single]) => single.microsecondsPerRequest / round.microsecondsPerRequest))
  return [{ workload, gain, cpuGain }]
}

/** pgbench, and the requests a commit, on one engine that holds the tree of the overwrites. */
async function showFloor(options: Options, { measuring, say }: Session): Promise<void> {
  const scale = scaleOf(overwrite256, options)
  const tree = new Tree(scale.topics, scale.valueBytes)
  const contender = postgres()
  const { running, close } = await house(contender, tree, { workers: options.workers, answerBytes: 0 }, measuring.homes)
  try {
    const { address } = running as PostgresRunning
    // Only what writes is given a number, and each transaction one.
    const commits = async (): Promise<number> =>
      Number(await query(address, 'select pg_snapshot_xmax(pg_current_snapshot())'))
    const before = await commits()
    const { burst: done } = await burst(
      running,
      overwrite256.scripts(tree, scale, 0),
      options.seconds,
      measuring.driver,
    )
    const shared = done.requests / ((await commits()) - before)
    say(
      `\n${scale.connections} connections: ${Math.round(done.requests / done.seconds)} overwrites/s, ${shared.toFixed(1)} requests a commit`,
    )
    for (const line of await pgbench(address, scale.topics, options)) say(line)
  } finally {
    await close()
  }
}

/** What single-row upserts reach when nothing but the engine works: prepared, a value of the same size, as many keys. */
async function pgbench(address: string, topics: number, options: Options): Promise<string[]> {
  const script = join(options.temporary, `topicd-floor-${process.pid}.sql`)
  await query(
    address,
    'create table if not exists floor (key bytea primary key, item text not null) with (fillfactor = 80)',
  )
  await writeFile(
    script,
    `\\set n random(1, ${topics})
insert into floor (key, item) values (decode(md5(:n::text), 'hex'), repeat('x', 110) || :n) on conflict (key) do update set item = excluded.item
`,
  )
  const lines: string[] = []
  for (const clients of floorConnections) {
    const seconds = String(Math.max(1, Math.ceil(options.seconds)))
    const args = ['-n', '-M', 'prepared', '-f', script, '-c', String(clients), '-j', '2', '-T', seconds, address]
    const { stdout } = await promisify(execFile)(join(binaries ?? '', 'pgbench'), args)
    lines.push(
      `pgbench, ${clients} connections: ${Math.round(Number(/tps = ([\d.]+)/.exec(stdout)?.[1]))} single-row upserts/s`,
    )
  }
  return lines
}
