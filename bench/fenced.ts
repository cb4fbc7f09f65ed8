/**
 * What do fenced reads cost? topicd on PostgreSQL with a synchronous standby on the same machine, once as it is and once with
 * `--fenced-reads`, interleaved. On two machines the network's round trip comes on top of each fetch's wait.
 *
 *     node dist-bench/fenced.js [WORKLOAD…] [options of npm run bench]
 */
import { bare } from './contenders/bare.js'
import { postgresWithStandby } from './contenders/postgres.js'
import { measure } from './measure/interleave.js'
import { program, readOptions, UsageError } from './options.js'
import { resultLines } from './report/table.js'
import { scaleOf, withSession } from './session.js'

const usual = ['fetch-path', 'page-10', 'mixed-90-10']

await program(async () => {
  const argv = process.argv.slice(2)
  const asked = readOptions(argv)
  const options = argv.some((word) => word === asked.workloads[0]?.name) ? asked : readOptions([...usual, ...argv])
  const contenders = [bare, postgresWithStandby(false), postgresWithStandby(true)]
  const { missing } = contenders[1]
  if (missing !== undefined) throw new UsageError(`this needs PostgreSQL: ${missing}`)
  return withSession(options, contenders, async ({ measuring, say }) => {
    let right = true
    for (const workload of options.workloads) {
      const result = await measure(workload, scaleOf(workload, options), contenders, measuring)
      say(`\n${resultLines(result).join('\n')}`)
      right &&= result.outcomes.every(({ problem }) => problem === undefined)
    }
    return right
  })
})
