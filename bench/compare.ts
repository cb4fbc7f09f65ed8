/**
 * Is one revision faster than another? Both are built in worktrees of their own and run side by side on this machine, in
 * interleaved bursts; the answer is the ratio of their CPU per request, round by round, with its spread.
 *
 *     npm run bench:compare -- BASE CHANGE [WORKLOAD…] [options of npm run bench]
 *
 * A revision is anything that git knows; a dot is the working tree as it was last built.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bare } from './contenders/bare.js'
import type { Contender } from './contenders/contender.js'
import { topicd } from './contenders/topicd.js'
import { measure, type Result } from './measure/interleave.js'
import { root } from './measure/machine.js'
import { spread } from './measure/statistics.js'
import { program, readOptions, UsageError } from './options.js'
import { figure, markdown, resultLines, summary } from './report/table.js'
import { scaleOf, withSession } from './session.js'

const run = promisify(execFile)

/** A build takes this long at most: an installation is part of it when the lock files differ. */
const buildMsMax = 600_000

/** A ratio whose whole spread lies on one side of 1 by this much is called a difference. */
const differenceMin = 0.02

await program(async () => {
  const options = readOptions(process.argv.slice(2), 2)
  const [base, change] = options.others
  if (change === undefined) throw new UsageError('two revisions are needed: the base and the change')
  const directory = await mkdtemp(join(options.temporary, 'topicd-compare-'))
  const worktrees: string[] = []
  try {
    const built: Contender[] = []
    for (const [name, revision] of [['base', base] as const, ['change', change] as const]) {
      const dist = revision === '.' ? join(root, 'dist') : await build(revision, join(directory, name), worktrees)
      const version = revision === '.' ? 'the working tree' : await shortName(revision)
      built.push(await topicd({ name, dist, version: `${name} ${version}` }))
    }
    return await withSession(options, [bare, ...built], async (session) => {
      const results: Result[] = []
      for (const workload of options.workloads) {
        const result = await measure(workload, scaleOf(workload, options), [bare, ...built], session.measuring)
        results.push(result)
        session.say(`\n${resultLines(result).join('\n')}`)
      }
      if (options.json) console.log(JSON.stringify({ machine: session.machine, base, change, results }, undefined, 2))
      else session.say(`\n${comparison(results).join('\n')}`)
      return results.every((result) => result.outcomes.every(({ problem }) => problem === undefined))
    })
  } finally {
    for (const worktree of worktrees) await run('git', ['-C', root, 'worktree', 'remove', '--force', worktree])
    await rm(directory, { recursive: true, force: true })
  }
})

/** Checks a revision out and builds it. @returns its `dist` */
async function build(revision: string, worktree: string, worktrees: string[]): Promise<string> {
  console.error(`building ${revision} …`)
  await run('git', ['-C', root, 'worktree', 'add', '--detach', worktree, revision])
  worktrees.push(worktree)
  const lock = 'package-lock.json'
  const [own, theirs] = await Promise.all([readFile(join(root, lock), 'utf8'), readFile(join(worktree, lock), 'utf8')])
  if (own === theirs) await symlink(join(root, 'node_modules'), join(worktree, 'node_modules'))
  else await run('npm', ['ci'], { cwd: worktree, timeout: buildMsMax })
  await run('npm', ['run', 'build'], { cwd: worktree, timeout: buildMsMax })
  return join(worktree, 'dist')
}

async function shortName(revision: string): Promise<string> {
  const { stdout } = await run('git', ['-C', root, 'rev-parse', '--short', revision])
  return stdout.trim()
}

/** For each workload both costs, and the ratio of the two in each round. */
function comparison(results: readonly Result[]): string[] {
  const rows = results.map((result) => {
    const of = (name: string) => result.outcomes.find(({ contender }) => contender === name)
    const [base, change] = [of('base'), of('change')]
    const sums = [base, change].map((outcome) => outcome && summary(outcome, result.workers))
    const [baseSum, changeSum] = sums
    if (!base || !change || !baseSum || !changeSum) return [result.workload, '—', '—', '—', 'no figures']
    const ratios = spread(
      change.rounds.map((round, i) => round.microsecondsPerRequest / base.rounds[i].microsecondsPerRequest),
    )
    const faster = ratios.max < 1 - differenceMin
    const slower = ratios.min > 1 + differenceMin
    return [
      result.workload,
      figure(baseSum.microseconds.median),
      figure(changeSum.microseconds.median),
      `${ratios.median.toFixed(3)} [${ratios.min.toFixed(3)}–${ratios.max.toFixed(3)}]`,
      faster ? 'faster' : slower ? 'slower' : 'no difference beyond the spread',
    ]
  })
  return markdown(['server CPU µs a request', 'base', 'change', 'change / base', 'verdict'], rows)
}
