/**
 * What would a machine with more cores do? Measures on this machine what a request costs with several workers, how long
 * a commit holds the write lock that all workers share, and what a worker's replacement does to the writes of the
 * others; then computes rates for more cores than this machine has. Measured costs, computed rates: the tables say
 * which is which, and report/cores-model.ts what the model leaves out.
 *
 *     npm run bench -- cores [options]
 */
import { availableParallelism } from 'node:os'
import { measure } from '../measure/interleave.js'
import { measureReplacements, type Replacements } from '../measure/replacement.js'
import type { Result } from '../measure/result.js'
import { type CommitTimes, measureCommits } from '../measure/write-lock.js'
import { flag, readCommandLine, UsageError } from '../options.js'
import { type CommitLine, type CoresRow, type Cost, commitLine, coresRows } from '../report/cores-model.js'
import { commitTable, computedTable, costTable, replacementTable } from '../report/cores-tables.js'
import { resultLines, summary } from '../report/table.js'
import { bare } from '../servers/bare.js'
import type { Server } from '../servers/server.js'
import { thisBuild, topicd } from '../servers/topicd.js'
import { allCorrect, openOn, type Session, scaleOf, withSession } from '../session.js'
import { fetchPath } from '../workloads/reads/fetch-path.js'
import { page10 } from '../workloads/reads/page.js'
import { Tree } from '../workloads/tree.js'
import type { Workload } from '../workloads/workload.js'
import { overwrite256 } from '../workloads/writes/overwrite.js'

const workloads = [fetchPath, page10, overwrite256]

/** Numbers of workers that are measured; in a smoke run, those for the costs and those of which one is killed. */
const workersMeasured = [1, 2, 4, 8]
const costWorkersInSmoke = [1]
const killWorkersInSmoke = [1, 2]

/** Commits of each size, and kills of a worker for each number of workers; and in a smoke run. */
const commits = 200
const commitsInSmoke = 5
const kills = 3
const killsInSmoke = 1

/** What the rates are computed for. */
const coresComputed = [1, 2, 4, 8, 16, 32]
const connectionsComputed = [256, 4096]

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words } = readCommandLine(argv, { json: flag })
  if (words[0] !== undefined) throw new UsageError(`unexpected argument "${words[0]}"`)
  const server = await topicd(thisBuild)
  return withSession(options, [bare, server], async (session) => {
    const { machine, print } = session
    const results = await measureCosts(server, session)
    print(`\n${costTable(results).join('\n')}`)
    const commitTimes = await measureLock(server, session)
    const commit = commitLine(
      commitTimes.map(({ writes, microseconds }) => ({ writes, microseconds: microseconds.median })),
    )
    print(`\n${commitTable(commitTimes, commit).join('\n')}`)
    const replacements = await measureKills(server, session)
    print(`\n${replacementTable(replacements).join('\n')}`)
    for (const { problem } of replacements) if (problem !== undefined) print(`WRONG ANSWERS: ${problem}`)
    const areCorrect = allCorrect(results) && replacements.every(({ problem }) => problem === undefined)
    const computed = areCorrect ? compute(results, commit, print) : undefined
    if (options.json)
      console.log(JSON.stringify({ machine, results, commitTimes, commit, replacements, computed }, undefined, 2))
    return areCorrect
  })
}

/** Computes and prints the rates; every workload must have figures. */
function compute(results: readonly Result[], commit: CommitLine, print: Session['print']): readonly CoresRow[] {
  const fetch = costsOf(fetchPath, results)
  const page = costsOf(page10, results)
  const overwrite = costsOf(overwrite256, results)
  const rows = coresRows({ fetch, page, overwrite, commit }, coresComputed, connectionsComputed)
  print(`\n${computedTable(rows, connectionsComputed, fetch.at(-1)?.workers ?? 1).join('\n')}`)
  return rows
}

/** The cost of each workload with each number of workers, beside the floor with as many. */
async function measureCosts(server: Server, { options, measureOptions, print }: Session): Promise<Result[]> {
  const results: Result[] = []
  for (const workers of options.smoke ? costWorkersInSmoke : workersMeasured) {
    for (const workload of workloads) {
      const scale = scaleOf(workload, options)
      const result = await measure(workload, scale, [bare, server], { ...measureOptions, workers })
      results.push(result)
      print(`\n${resultLines(result).join('\n')}`)
    }
  }
  return results
}

function measureLock(server: Server, { options, measureOptions }: Session): Promise<CommitTimes[]> {
  const { topics, valueBytes } = scaleOf(overwrite256, options)
  const rounds = options.smoke ? commitsInSmoke : commits
  return measureCommits(server, new Tree(topics, valueBytes), measureOptions.sandboxes.temporary, rounds)
}

async function measureKills(server: Server, session: Session): Promise<Replacements[]> {
  const { smoke } = session.options
  const replacements: Replacements[] = []
  for (const workers of smoke ? killWorkersInSmoke : workersMeasured) {
    const options = { ...session.options, workers }
    const { running, tree, close } = await openOn(server, overwrite256, { ...session, options })
    const measured = measureReplacements(running, tree, workers, smoke ? killsInSmoke : kills)
    replacements.push(await measured.finally(close))
  }
  return replacements
}

/**
 * The costs of a workload that the model may use: with more workers than this machine has cores, they share them, and
 * the figure is not that of a larger machine.
 */
function costsOf(workload: Workload, results: readonly Result[]): Cost[] {
  return results.flatMap(({ workload: name, workers, outcomes }) => {
    if (name !== workload.name || workers > availableParallelism()) return []
    const outcome = outcomes.find(({ server }) => server === 'topicd')
    const figures = outcome && summary(outcome, workers)
    return figures === undefined ? [] : [{ workers, microseconds: figures.microseconds.median }]
  })
}
