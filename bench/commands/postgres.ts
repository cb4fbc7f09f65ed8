/**
 * What does the same service cost on PostgreSQL, and how much does batching gain? Measures, interleaved: topicd on lmdb, topicd on
 * PostgreSQL, the same with one statement per request, and the obvious server over PostgreSQL. Then, on the same engine: the number of
 * requests per commit, and single-row upserts by pgbench as the floor of such a statement.
 *
 *     npm run bench -- postgres [WORKLOAD…] [options]
 *
 * Fails unless batching reaches three times as many overwrites per second over 256 connections.
 */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runBurst } from '../measure/burst.js'
import type { Result, Round } from '../measure/result.js'
import { median } from '../measure/statistics.js'
import { type Options, readCommandLine, UsageError, workloadsNamed } from '../options.js'
import { bare } from '../servers/bare.js'
import { fastifyPostgres } from '../servers/fastify-postgres.js'
import { type PostgresRunning, postgres, postgresUnbatched } from '../servers/postgres.js'
import { binaries, query } from '../servers/postgres-engine.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { allCorrect, measureAll, openOn, type Session, withSession } from '../session.js'
import { overwrite256 } from '../workloads/writes/overwrite.js'

/** Requests per second that batching must reach, as a multiple of the rate without batching. */
const gainMin = 3

/** Connections of pgbench: more did not make it faster in trials. */
const floorConnections = [16, 64]

const defaults = [
  'overwrite-1',
  'overwrite-64',
  'overwrite-256',
  'mixed-90-10',
  'fetch-path',
  'page-10',
  'subtree-deep',
]

/** The gain of batching over single statements: medians over the interleaved bursts. */
interface Gain {
  readonly workload: string
  /** The gain in requests per second. */
  readonly speed: number
  /** The ratio of the CPU time per request; below 1 if batching takes less. */
  readonly cpu: number
}

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words } = readCommandLine(argv)
  const workloads = workloadsNamed(words, defaults)
  const batched = postgres()
  if (batched.missing !== undefined) throw new UsageError(`postgres needs PostgreSQL: ${batched.missing}`)
  const servers = [bare, await topicd(thisBuild), batched, postgresUnbatched(), fastifyPostgres()]
  return withSession(options, servers, async (session) => {
    const results = await measureAll(session, workloads, () => servers)
    await showFloor(session)
    const gains = results.flatMap(gainOf)
    for (const { workload, speed, cpu } of gains) {
      session.print(
        `${workload}: batching reaches ${speed.toFixed(1)} times the requests per second of single statements, ` +
          `at ${cpu.toFixed(2)} times the CPU time per request, including the engine's`,
      )
    }
    const overwrites = gains.find(({ workload }) => workload === overwrite256.name)
    return allCorrect(results) && (options.smoke || overwrites === undefined || overwrites.speed >= gainMin)
  })
}

/** The gain in one workload; empty if either server has no figures. */
function gainOf({ workload, outcomes }: Result): Gain[] {
  const roundsOf = (name: string): readonly Round[] => outcomes.find(({ server }) => server === name)?.rounds ?? []
  const batched = roundsOf('postgres')
  const ratios = roundsOf('postgres-unbatched').flatMap((single, i) => {
    const round = batched[i]
    if (round === undefined) return []
    return {
      speed: round.requestsPerSecond / single.requestsPerSecond,
      cpu: round.microsecondsPerRequest / single.microsecondsPerRequest,
    }
  })
  if (ratios.length === 0) return []
  return [{ workload, speed: median(ratios.map(({ speed }) => speed)), cpu: median(ratios.map(({ cpu }) => cpu)) }]
}

/** The requests per commit, and pgbench, on one engine with the tree of the overwrites. */
async function showFloor(session: Session): Promise<void> {
  const { options, measureOptions, print } = session
  const { running, tree, scale, close } = await openOn(postgres(), overwrite256, session)
  try {
    const { address } = running as PostgresRunning
    // Only transactions that write get an id, one each.
    const commits = async (): Promise<number> =>
      Number(await query(address, 'select pg_snapshot_xmax(pg_current_snapshot())'))
    const before = await commits()
    const scripts = overwrite256.scripts(tree, scale, 0)
    const { burst } = await runBurst(running, scripts, options.seconds, measureOptions.driver)
    const perCommit = burst.requests / ((await commits()) - before)
    const rate = Math.round(burst.requests / burst.seconds)
    print(`\n${scale.connections} connections: ${rate} overwrites/s, ${perCommit.toFixed(1)} requests per commit`)
    for (const line of await pgbench(address, scale.topics, options)) print(line)
  } finally {
    await close()
  }
}

/** The rate of single-row upserts without any other work: prepared, with values of the same size and as many keys. */
async function pgbench(address: string, topics: number, options: Options): Promise<string[]> {
  const script = join(options.directory, `topicd-floor-${process.pid}.sql`)
  const table = 'create table if not exists floor (key bytea primary key, item text not null) with (fillfactor = 80)'
  await query(address, table)
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
    const rate = Math.round(Number(/tps = ([\d.]+)/.exec(stdout)?.[1]))
    lines.push(`pgbench, ${clients} connections: ${rate} single-row upserts/s`)
  }
  await rm(script)
  return lines
}
