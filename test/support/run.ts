/**
 * Runs test files without coverage, a few at a time, after a build:
 *
 *     node dist-test/support/run.js quick              every file that is neither long nor an architecture check
 *     node dist-test/support/run.js long               the long files
 *     node dist-test/support/run.js paging http topics files and folders by name, quick and long
 *
 * tap's own runner puts a loader into each process that a test starts, including the service's workers. Coverage needs
 * that, but it doubles the time, so only `npm run test:coverage` uses it.
 *
 * With --no-skips, a file that skips anything fails: a release needs every test.
 *
 * A file that passes is one line; of a file that fails, the whole output is shown. The exit status is 1 if any failed,
 * or none ran.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBinaries, OwnCluster, sharedEngine } from './postgres-cluster.js'

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

/**
 * What tap prints, without failing, of an assertion that comes after the file's root test has ended by itself. A root
 * test that has a teardown may end at any await; so such a file puts its assertions into `t.test`.
 */
const lateAssertion = 'assertion after automatic end'

interface Outcome {
  readonly test: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly ok: boolean
}

async function run(test: string, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const startedMs = performance.now()
  const file = join(directory, test.endsWith('.js') ? test : `${test}.test.js`)
  const child = spawn(process.execPath, ['--enable-source-maps', file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => output.push(piece))
  const [code] = (await once(child, 'close')) as [number | null]
  const text = Buffer.concat(output).toString()
  // tap ends with its totals, as in "# { total: 73, pass: 71, skip: 2 }"
  const totals = /^# \{ total: \d.*\}$/m.exec(text)?.[0] ?? ''
  const count = (name: string): number => Number(new RegExp(`${name}: (\\d+)`).exec(totals)?.[1] ?? 0)
  const mayPass = code === 0 && totals !== '' && !text.includes(lateAssertion)
  const ok = mayPass && !(noSkips && count('skip') > 0)
  const outcome = { test, passed: count('pass'), failed: count('fail'), skipped: count('skip'), ok }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  if (!mayPass) process.stdout.write(`${text}\nnot ok ${test}: exit status ${code}, ${seconds} s\n`)
  else process.stdout.write(`ok ${test}: ${outcome.passed} passed, ${seconds} s\n`)
  for (const [, skip] of text.matchAll(/^ *ok \d+ - (.*# SKIP.*)$/gm)) process.stdout.write(`   skipped: ${skip}\n`)
  return outcome
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
const engine = isQuick ? await startEngine() : undefined
const env: NodeJS.ProcessEnv = {
  ...process.env,
  TAP: '1',
  TAP_SAVE_FIXTURE: '1',
  TAP_TIMEOUT: String(option('timeout') ?? timeoutSDefault),
}
if (engine !== undefined) env[sharedEngine] = engine.address('postgres')

// Quick files often wait, so one more than there are cores may run; others measure time, and only two run at once.
const waiting = [...chosen]
const outcomes: Outcome[] = []
async function work(): Promise<void> {
  for (let test = waiting.shift(); test !== undefined; test = waiting.shift()) outcomes.push(await run(test, env))
}
await Promise.all(Array.from({ length: option('jobs') ?? (isQuick ? availableParallelism() + 1 : 2) }, work))
await engine?.remove()

const sum = (count: (outcome: Outcome) => number): number => outcomes.reduce((total, each) => total + count(each), 0)
for (const { test } of outcomes.filter(({ ok }) => !ok)) process.stdout.write(`FAILED: ${test}\n`)
process.stdout.write(
  `${outcomes.length} files: ${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ` +
    `${sum(({ skipped }) => skipped)} skipped\n`,
)
process.exitCode = outcomes.length > 0 && outcomes.every(({ ok }) => ok) ? 0 : 1
