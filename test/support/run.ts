/**
 * Runs test files without coverage, a few at a time, after a build:
 *
 *     node dist-test/support/run.js quick              every file that is neither long nor an architecture check
 *     node dist-test/support/run.js long               the long files
 *     node dist-test/support/run.js paging http topics files and folders by name, quick and long
 *
 * tap's own runner puts a loader into each process that a test starts, including the service's workers. Coverage needs
 * that, but it doubles the time, so only `npm run test:coverage` uses it, for the quick files.
 *
 * With --times, a table at the end says how long each file took and how much CPU time, the slowest first. With
 * --no-skips, a file that skips anything fails: a release needs every test.
 *
 * A file that passes is one line; of a file that fails, the whole output is shown. A file that fails runs once more at the end,
 * alone. If it then passes, it counts as passed, and the end of the log lists it as FLAKY: a defect to be mended.
 * The exit status is 1 if a file failed twice, or none ran. With --once, no file runs again.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedPackages } from './machines/built-packages.js'
import { findBinaries, OwnCluster, sharedEngine } from './stores/postgres-cluster.js'
import { endOf, startTest, testEnvironment, type Verdict, verdictOf } from './test-process.js'

const directory = join(import.meta.dirname, '..')

/** `postgres/crash.long` for dist-test/postgres/crash.long.test.js. */
const tests = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(test|extra)\.js$/.test(file))
  .map((file) => file.replace(/\.test\.js$/, ''))
  .sort()

/** The time limit of a file, in seconds, without `--timeout`. */
const timeoutSDefault = 600

/** The tests of a name: `crash` means durability/crash.long and postgres/crash.long. */
function testsOf(name: string): string[] {
  // `npm run check` runs the architecture checks.
  if (name === 'quick') return tests.filter((test) => !/\.(long|extra\.js)$|^architecture\//.test(test))
  if (name === 'long') return tests.filter((test) => test.endsWith('.long'))
  return tests.filter((test) => {
    const [folder, file] = test.replace(/\.(long|extra\.js)$/, '').split('/')
    return [folder, file, `${folder}/${file}`].includes(name) || test === name
  })
}

const fileOf = (test: string): string => join(directory, test.endsWith('.js') ? test : `${test}.test.js`)

/** Files in one process: enough to make the start of its services cheap, few enough to keep every core busy to the end. */
const filesTogetherMax = 8

/** Files that run in one process: those that state their expectations of a service of each store share its start. */
function groupsOf(tests: readonly string[]): string[][] {
  const shares = (test: string): boolean => readFileSync(fileOf(test), 'utf8').includes('overStores(')
  const sharing = tests.filter(shares)
  const groups = Array.from({ length: Math.ceil(sharing.length / filesTogetherMax) }, (_, i) =>
    sharing.slice(i * filesTogetherMax, (i + 1) * filesTogetherMax),
  )
  return [...groups, ...tests.filter((test) => !shares(test)).map((test) => [test])]
}

interface Outcome extends Verdict {
  /** What ran: a file, or how many. */
  readonly test: string
  readonly seconds: number
}

/** @param isShownWhole whether its output is shown even if it passes */
async function run(tests: readonly string[], isShownWhole = false): Promise<Outcome> {
  const startedMs = performance.now()
  const test = tests.length === 1 ? `${tests[0]}` : `${tests[0]} and ${tests.length - 1} more over each store`
  const env = { ...testEnvironment(timeoutS * tests.length), ...sharedByFiles }
  const { output, code } = await endOf(startTest(tests.map(fileOf), env))
  const verdict = verdictOf(output, code)
  const seconds = (performance.now() - startedMs) / 1000
  const took = `${seconds.toFixed(1)} s`
  if (isShownWhole || !verdict.ok) process.stdout.write(`${output}\n`)
  if (verdict.ok) process.stdout.write(`ok ${test}: ${verdict.passed} passed, ${took}\n`)
  else process.stdout.write(`not ok ${test}: exit status ${code}, ${took}\n`)
  for (const skip of verdict.skips) process.stdout.write(`   skipped: ${skip}\n`)
  return { ...verdict, test, seconds, ok: verdict.ok && !(noSkips && verdict.skipped > 0) }
}

/** Starts one PostgreSQL for all files; undefined if none is installed, or TOPICD_TEST_POSTGRES names one. */
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
const chosen = new Set<string>()
for (const name of names) {
  const meant = testsOf(name)
  if (meant.length === 0) {
    process.stderr.write(`no test is called ${name}\n`)
    process.exit(2)
  }
  for (const test of meant) chosen.add(test)
}

const isQuick = names.includes('quick')
// A file alone starts one itself, if it needs any.
const engine = chosen.size > 1 ? await startEngine() : undefined
const timeoutS = option('timeout') ?? timeoutSDefault
const packages = mkdtempSync(join(tmpdir(), 'topicd-packages-'))
/** Where each file finds what is made once for all of them. */
const sharedByFiles: NodeJS.ProcessEnv = { [sharedPackages]: packages }
if (engine !== undefined) sharedByFiles[sharedEngine] = engine.address('postgres')

// Quick files often wait, so one more than there are cores may run; others measure time, and only two run at once.
const waiting = groupsOf([...chosen])
const outcomes: Outcome[] = []
const failed: string[][] = []
async function work(): Promise<void> {
  for (let tests = waiting.shift(); tests !== undefined; tests = waiting.shift()) {
    const outcome = await run(tests)
    if (outcome.ok || runsOnce) outcomes.push(outcome)
    else failed.push(tests)
  }
}
await Promise.all(Array.from({ length: option('jobs') ?? (isQuick ? availableParallelism() + 1 : 2) }, work))

const flaky: string[] = []
for (const tests of failed) {
  process.stdout.write(`again, alone: ${tests.join(' ')}\n`)
  const outcome = await run(tests, true)
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
  `${chosen.size} files: ${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ` +
    `${sum(({ skipped }) => skipped)} skipped\n`,
)
process.exitCode = outcomes.length > 0 && outcomes.every(({ ok }) => ok) ? 0 : 1
