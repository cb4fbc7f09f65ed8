/**
 * Every workload of the benchmarks still runs, tiny and for a moment, and all its answers are right: a benchmark that is
 * only run once a year has rotted by then. The figures mean nothing here.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Test, test } from 'tap'

const root = join(import.meta.dirname, '../..')

/** The part of the benchmark's JSON that is looked at here. */
interface Report {
  readonly results: readonly {
    readonly workload: string
    readonly outcomes: readonly {
      readonly contender: string
      readonly rounds: readonly object[]
      readonly problem?: string
    }[]
  }[]
}

/** Without what the test runner adds for the processes of the server: it makes each start take seconds. */
const plainEnvironment = { ...process.env, NODE_OPTIONS: '' }

const stdoutBytesMax = 64 * 1024 * 1024

async function smoke(t: Test, ...args: string[]): Promise<Report['results']> {
  const home = t.testdir()
  const where = ['--dir', home, '--keep', join(home, 'kept')]
  const command = [join(root, 'dist-bench', 'run.js'), '--smoke', '--json', ...where, ...args]
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    env: plainEnvironment,
    maxBuffer: stdoutBytesMax,
  })
  return (JSON.parse(stdout) as Report).results
}

function ran(t: Test, results: Report['results'], contenders: readonly string[]): void {
  for (const { workload, outcomes } of results) {
    t.strictSame(
      outcomes.map(({ contender }) => contender),
      contenders,
      `${workload}: all take part`,
    )
    for (const { contender, rounds, problem } of outcomes) {
      t.equal(problem, undefined, `${workload}: every answer of ${contender} is right`)
      t.equal(rounds.length, 1, `${workload}: ${contender} has a figure`)
    }
  }
}

/** Parts of the workloads that run side by side: most of the time goes by in starting and stopping servers. */
const parts = [
  ['fetch-path', 'page-10', 'page-100', 'deep-cursor', 'overwrite-1', 'overwrite-64'],
  ['overwrite-256', 'add-remove', 'mixed-90-10', 'many-publishers', 'big-fetch', 'big-overwrite'],
  ['subtree-shallow', 'subtree-deep', 'split-path-skip', 'literal-prefix', 'scan-nothing', 'fetch-beside-scan'],
]

test('every workload runs and all its answers are right', { jobs: parts.length }, async (t) => {
  for (const part of parts) {
    void t.test(part.join(', '), async (t) => {
      const results = await smoke(t, '--contenders', 'topicd', ...part)
      t.strictSame(
        results.map(({ workload }) => workload),
        part,
        'no workload is left out',
      )
      ran(t, results, ['topicd'])
    })
  }
})

test('the parts are all the workloads that there are', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'dist-bench', 'run.js'), '--help'])
  for (const name of parts.flat())
    t.ok(stdout.includes(`${name},`) || stdout.includes(`${name};`), `${name} is offered`)
  const offered = /WORKLOAD +(.*?);/s.exec(stdout)?.[1]?.split(',') ?? []
  t.equal(offered.length, parts.flat().length, 'and no other is')
})

test('the floor and the obvious server answer rightly too', async (t) => {
  const contenders = ['bare', 'topicd', 'fastify + lmdb']
  ran(t, await smoke(t, '--contenders', 'bare,topicd,fastify', 'mixed-90-10', 'deep-cursor'), contenders)
})

test('two workers answer rightly', async (t) => {
  ran(t, await smoke(t, '--contenders', 'bare,topicd', '--workers', '2', 'mixed-90-10'), ['bare', 'topicd'])
})
