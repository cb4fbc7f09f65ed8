/**
 * Is one revision faster than another? Each is built in its own worktree, and both run side by side on this machine in interleaved bursts.
 * The result is the ratio of their CPU time per request for each round, with its spread.
 *
 *     npm run bench -- compare BASE CHANGE [WORKLOAD…] [options]
 *
 * A revision is anything that git accepts as one; a dot is the working tree as last built. With `--peers`, other servers are also measured
 * in the same run.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../measure/machine.js'
import type { Outcome, Result } from '../measure/result.js'
import { spread } from '../measure/statistics.js'
import { flag, readCommandLine, text, UsageError, workloadsNamed } from '../options.js'
import { figure, markdown, summary } from '../report/table.js'
import { bare } from '../servers/bare.js'
import { serversNamed } from '../servers/chosen.js'
import { peers } from '../servers/peers.js'
import type { Server } from '../servers/server.js'
import { topicd } from '../servers/topicd.js'
import { allCorrect, measureAll, withSession } from '../session.js'

const execute = promisify(execFile)

/** Time limit of a build, which includes an installation if the lock files differ. */
const buildMsMax = 600_000

/** The revisions differ if all ratios are on the same side of 1, at least this far away. */
const differenceMin = 0.02

export async function run(argv: readonly string[]): Promise<boolean> {
  const { options, words, own } = readCommandLine(argv, { json: flag, peers: text })
  const [base, change, ...names] = words
  if (base === undefined || change === undefined) throw new UsageError('compare needs two revisions: BASE and CHANGE')
  const workloads = workloadsNamed(names, [options.smoke ? 'all' : 'usual'])
  const besides = typeof own.peers === 'string' ? serversNamed(peers, own.peers.split(',')) : []
  const directory = await mkdtemp(join(options.directory, 'topicd-compare-'))
  const worktrees: string[] = []
  try {
    const servers = [
      bare,
      await builtServer('base', base, join(directory, 'base'), worktrees),
      await builtServer('change', change, join(directory, 'change'), worktrees),
      ...besides,
    ]
    return await withSession(options, servers, async (session) => {
      const results = await measureAll(session, workloads, ({ servers: which }) =>
        which === 'all' ? servers : servers.filter((server) => !besides.includes(server)),
      )
      const { machine, print } = session
      if (options.json) console.log(JSON.stringify({ machine, base, change, results }, undefined, 2))
      else print(`\n${comparison(results).join('\n')}`)
      return allCorrect(results)
    })
  } finally {
    for (const worktree of worktrees) await execute('git', ['-C', root, 'worktree', 'remove', '--force', worktree])
    await rm(directory, { recursive: true, force: true })
  }
}

async function builtServer(name: string, revision: string, directory: string, worktrees: string[]): Promise<Server> {
  if (revision === '.') return topicd({ name, dist: join(root, 'dist'), version: `${name} working tree` })
  const dist = await build(revision, directory, worktrees)
  return topicd({ name, dist, version: `${name} ${await shortName(revision)}` })
}

/** Checks out a revision and builds it. @returns its `dist` */
async function build(revision: string, worktree: string, worktrees: string[]): Promise<string> {
  console.error(`building ${revision} …`)
  await execute('git', ['-C', root, 'worktree', 'add', '--detach', worktree, revision])
  worktrees.push(worktree)
  const lock = 'package-lock.json'
  const [own, theirs] = await Promise.all([readFile(join(root, lock), 'utf8'), readFile(join(worktree, lock), 'utf8')])
  if (own === theirs) await symlink(join(root, 'node_modules'), join(worktree, 'node_modules'))
  else await execute('npm', ['ci'], { cwd: worktree, timeout: buildMsMax })
  await execute('npm', ['run', 'build'], { cwd: worktree, timeout: buildMsMax })
  return join(worktree, 'dist')
}

async function shortName(revision: string): Promise<string> {
  const { stdout } = await execute('git', ['-C', root, 'rev-parse', '--short', revision])
  return stdout.trim()
}

/** For each workload, both costs and their ratio over the rounds. */
function comparison(results: readonly Result[]): string[] {
  return markdown(
    ['server CPU µs per request', 'base', 'change', 'change / base', 'verdict'],
    results.map(comparisonRow),
  )
}

function comparisonRow(result: Result): string[] {
  const outcomeOf = (name: string): Outcome | undefined => result.outcomes.find(({ server }) => server === name)
  const [base, change] = [outcomeOf('base'), outcomeOf('change')]
  const baseSummary = base && summary(base, result.workers)
  const changeSummary = change && summary(change, result.workers)
  if (!base || !change || !baseSummary || !changeSummary) return [result.workload, '—', '—', '—', 'no figures']
  const ratios = spread(
    change.rounds.flatMap(({ microsecondsPerRequest }, i) => {
      const ofBase = base.rounds[i]?.microsecondsPerRequest
      return ofBase === undefined ? [] : microsecondsPerRequest / ofBase
    }),
  )
  const faster = ratios.max < 1 - differenceMin
  const slower = ratios.min > 1 + differenceMin
  return [
    result.workload,
    figure(baseSummary.microseconds.median),
    figure(changeSummary.microseconds.median),
    `${ratios.median.toFixed(3)} [${ratios.min.toFixed(3)}–${ratios.max.toFixed(3)}]`,
    faster ? 'faster' : slower ? 'slower' : 'no difference beyond the spread',
  ]
}
