/**
 * What do fenced reads cost? Measures topicd on PostgreSQL with a synchronous standby on the same machine, without and with
 * `--fenced-reads`, interleaved. Between two machines, each fetch also takes a network round trip.
 *
 *     npm run bench -- fenced [WORKLOAD…] [options]
 */
import { readCommandLine, UsageError, workloadsNamed } from '../options.js'
import { bare } from '../servers/bare.js'
import { postgresWithStandby } from '../servers/postgres.js'
import { allCorrect, measureAll, withSession } from '../session.js'

const defaults = ['fetch-path', 'page-10', 'mixed-90-10']

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words } = readCommandLine(argv)
  const workloads = workloadsNamed(words, defaults)
  const plain = postgresWithStandby(false)
  if (plain.missing !== undefined) throw new UsageError(`fenced needs PostgreSQL: ${plain.missing}`)
  const servers = [bare, plain, postgresWithStandby(true)]
  return withSession(options, servers, async (session) =>
    allCorrect(await measureAll(session, workloads, () => servers)),
  )
}
