/**
 * Runs test files without coverage, a few at a time, after a build:
 *
 *     node dist-test/support/run.js quick              every quick file, over LMDB alone
 *     node dist-test/support/run.js long               the other files that every delivery must pass
 *     node dist-test/support/run.js release            the files that only a release must pass
 *     node dist-test/support/run.js paging http topics files and folders by name, of every kind
 *     node dist-test/support/run.js v1.0.0..           the folders that test what these commits change
 *
 * tap's own runner injects a loader into each process that a test starts, including the service's workers. Coverage needs the loader, but
 * it doubles the time, so only `npm run test:coverage` uses it.
 *
 * With --times, a table at the end lists the duration and CPU time of each file, the slowest first. With --no-skips, a file that skips
 * anything fails, because a release needs every test.
 *
 * A file that passes prints one line; a file that fails prints its whole output. A file that fails runs once more at the end, alone. If it
 * then passes, it counts as passed, and the end of the log lists it as FLAKY, a defect to fix. The exit status is 1 if a file failed twice,
 * or no file ran. With --once, no file is run again.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedPackages } from './machines/built-packages.js'
import { findBinaries, OwnCluster, sharedEngine } from './stores/postgres-cluster.js'
import { atOnceMax, fileOf, type Group, groupsOf, type Kind, testsOf } from './test-files.js'
import { endOf, onlyStore, startTest, testEnvironment, type Verdict, verdictOf } from './test-process.js'

/** The default time limit of a file, in seconds. */
const timeoutSDefault = 600

interface Outcome extends Verdict {
  /** The file that ran, or the first of several and their number. */
  readonly test: string
  readonly seconds: number
}

/** @param isShownWhole whether the output is shown even if the test passes */
async function run({ tests, store, only }: Group, isShownWhole = false): Promise<Outcome> {
  const startedMs = performance.now()
  const others = tests.length === 1 ? '' : ` and ${tests.length - 1} more`
  const test = [tests[0], others, store && ` over ${store}`, only && `, ${only.replace('\n', ' ')} alone`].join('')
  const env = {
    ...testEnvironment(timeoutS * tests.length),
    ...sharedByFiles,
    ...(store && { [onlyStore]: store }),
    ...(only && { TAP_GREP: only }),
  }
  const { output, code } = await endOf(startTest(tests.map(fileOf), env))
  const verdict = verdictOf(output, code)
  const seconds = (performance.now() - startedMs) / 1000
  const took = `${seconds.toFixed(1)} s`
  if (isShownWhole || !verdict.ok) process.stdout.write(`${output}\n`)
  if (verdict.ok) process.stdout.write(`ok ${test}: ${verdict.passed} passed, ${took}\n`)
  else process.stdout.write(`not ok ${test}: exit status ${code}, ${took}\n`)
  for (const skip of verdict.skips) process.stdout.write(`   skipped: ${skip}\n`)
  return { ...verdict, test, seconds, ok: verdict.ok && !(noSkips && verdict.skips.length > 0) }
}

/** Starts one PostgreSQL for all files; undefined if PostgreSQL is not installed, or TOPICD_TEST_POSTGRES names a server. */
async function startEngine(): Promise<OwnCluster | undefined> {
  const binaries = findBinaries()
  if (binaries === undefined || process.env.TOPICD_TEST_POSTGRES !== undefined) return
  const engine = new OwnCluster(binaries, mkdtempSync(join(tmpdir(), 'topicd-postgres-')))
  await engine.make()
  await engine.start()
  return engine
}

const args = process.argv.slice(2)
const option = (name: string): number | undefined =>
  args.flatMap((arg) => (arg.startsWith(`--${name}=`) ? [Number(arg.slice(name.length + 3))] : []))[0]
const noSkips = args.includes('--no-skips')
const runsOnce = args.includes('--once')
const names = args.filter((arg) => !arg.startsWith('--'))
const unknown = names.find((name) => testsOf(name).length === 0)
if (unknown !== undefined || names.length === 0) {
  const problem = unknown?.includes('..') ? `${unknown} touches no tested folder` : `there is no test named ${unknown}`
  process.stderr.write(
    names.length === 0 ? 'give the names of files or folders, or a range of commits\n' : `${problem}\n`,
  )
  process.exit(2)
}
const waiting = groupsOf(names)
const files = waiting.reduce((total, { tests }) => total + tests.length, 0)

// A single file starts PostgreSQL itself if it needs it.
const engine = files > 1 ? await startEngine() : undefined
const timeoutS = option('timeout') ?? timeoutSDefault
const packages = mkdtempSync(join(tmpdir(), 'topicd-packages-'))
/** Environment variables with the resources that all files share. */
const sharedByFiles: NodeJS.ProcessEnv = { [sharedPackages]: packages }
if (engine !== undefined) sharedByFiles[sharedEngine] = engine.address('postgres')

const outcomes: Outcome[] = []
const failed: Group[] = []
async function work(groups: Group[]): Promise<void> {
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
    const outcome = await run(group)
    if (outcome.ok || runsOnce) outcomes.push(outcome)
    else failed.push(group)
  }
}
for (const kind of Object.keys(atOnceMax) as Kind[]) {
  const groups = waiting.filter((group) => group.kind === kind)
  await Promise.all(Array.from({ length: option('jobs') ?? atOnceMax[kind] }, () => work(groups)))
}

const flaky: string[] = []
for (const group of failed) {
  process.stdout.write(`again, alone: ${group.tests.join(' ')}\n`)
  const outcome = await run(group, true)
  outcomes.push(outcome)
  if (outcome.ok) flaky.push(outcome.test)
}
await engine?.remove()
rmSync(packages, { recursive: true, force: true })

const sum = (count: (outcome: Outcome) => number): number => outcomes.reduce((total, each) => total + count(each), 0)
if (args.includes('--times')) {
  process.stdout.write(`${'wall'.padStart(7)} ${'CPU'.padStart(7)} s\n`)
  for (const { test, seconds, cpuSeconds } of outcomes.sort((a, b) => b.seconds - a.seconds))
    process.stdout.write(`${seconds.toFixed(1).padStart(7)} ${cpuSeconds.toFixed(1).padStart(7)}   ${test}\n`)
}
for (const test of flaky) process.stdout.write(`FLAKY: ${test}\n`)
for (const { test } of outcomes.filter(({ ok }) => !ok)) process.stdout.write(`FAILED: ${test}\n`)
process.stdout.write(
  `${files} files: ${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ` +
    `${sum(({ skips }) => skips.length)} skipped\n`,
)
process.exitCode = outcomes.length > 0 && outcomes.every(({ ok }) => ok) ? 0 : 1
