/**
 * Runs long tests repeatedly, each round with its own seed: `npm run prove`. Each run of a proof appends its row to the results in
 * docs/maintainers/verification.md, which also explains each proof.
 */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readDocument, root } from './documents.js'
import { diskFaultCases } from './faults/faulty-disk.js'
import { mutants } from './faults/mutants.js'
import { type Results, resultsIn, together } from './proof-results.js'
import { fileOf, testsOf } from './test-files.js'
import { endOf, startTest, testEnvironment, verdictOf } from './test-process.js'

interface Proof {
  /** A long test that prints figures. */
  readonly test: string
  /** A figure of the test: a round in which it is 0 has proved nothing. */
  readonly counted: string
  /** Default number of rounds. */
  readonly rounds: number
  readonly environment?: Readonly<Record<string, string>>
  /** The values of CASE for the rounds, in turn. */
  readonly cases?: readonly string[]
}

const diskFaults = diskFaultCases.map(({ name }) => name)
const faults = mutants.map(({ fault }) => fault)
/** Rounds so long that, on a slow machine too, some of each command's runs are not interrupted. */
const torture = { TORTURE_SECONDS: '300', SILENCE_MS_MAX: '1000' }
const large = { LARGE_TOPICS: '10000000', SLOWER_MAX: '3', LIMITED_MS_MAX: '1000' }

/** Proofs with one round look for growth, which would not show in several rounds. */
const proofs: Readonly<Record<string, Proof>> = {
  kills: { test: 'durability/crash', counted: 'kills', rounds: 4, environment: torture },
  'writer-kills': { test: 'durability/writer-kills', counted: 'kills', rounds: 3, environment: { KILLS: '100' } },
  'power-cuts': { test: 'durability/power-cut', counted: 'cuts', rounds: 10, environment: { POWER_CUTS: '10' } },
  'changes-model': { test: 'api/changes-model', counted: 'changes', rounds: 7, environment: { SECONDS: '300' } },
  hostile: { test: 'http/fuzz', counted: 'requests', rounds: 1, environment: { FUZZ_REQUESTS: '1000000' } },
  'unread-streams': {
    ...{ test: 'api/streams-unread', counted: 'seconds', rounds: 1 },
    environment: { SECONDS: '3600', CLIENTS: '1000' },
  },
  'mixed-load': { test: 'operate/mixed-load', counted: 'seconds', rounds: 1, environment: { MIXED_SECONDS: '9000' } },
  'disk-faults': { test: 'durability/disk-faults', counted: 'cases', rounds: diskFaults.length, cases: diskFaults },
  'large-store': { test: 'operate/large-store', counted: 'topics', rounds: 1, environment: large },
  mutants: { test: 'durability/mutants', counted: 'mutants', rounds: faults.length, cases: faults },
}

/** Time after which a round counts as hung; the longest takes three hours. */
const roundSecondsMax = 4 * 3600

/** Time that the processes of a round have for cleaning up when they are terminated. */
const endMsMax = 10_000

const stopping = new AbortController()

/** Runs a round until it ends or counts as hung. @returns its output, and its figures if it has passed */
async function runRound(
  files: readonly string[],
  counted: string,
  environment: Readonly<Record<string, string>>,
  secondsMax = roundSecondsMax,
): Promise<{ readonly output: string; readonly results?: Results }> {
  const child = startTest(files, { ...testEnvironment(secondsMax), ...environment }, true)
  const end = (): void => {
    // The whole process group, with everything that the test has started.
    process.kill(-(child.pid as number), 'SIGTERM')
    killing = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), endMsMax)
  }
  // The test has its own time limit, which a hanging event loop would not keep.
  let killing = setTimeout(end, secondsMax * 1000)
  stopping.signal.addEventListener('abort', end)
  const { output, code } = await endOf(child)
  clearTimeout(killing)
  stopping.signal.removeEventListener('abort', end)
  const results = resultsIn(output)
  const { ok, skips } = verdictOf(output, code)
  // A test that skips anything, or counts nothing, has proved nothing.
  const hasPassed = ok && skips.length === 0 && (results[counted] ?? 0) > 0
  return hasPassed ? { output, results } : { output }
}

const resultsPage = 'docs/maintainers/verification.md'

/** The page with another row at the end of its table of results. */
export function withRow(page: string, cells: readonly string[]): string {
  return page.replace(/\n\| Proof \|(.*\n\|)+.*\n/, (table) => `${table}| ${cells.join(' | ')} |\n`)
}

interface Request {
  readonly seed: number
  readonly rounds: number | undefined
  readonly endMs: number
}

/** Runs a proof up to the first failed round, and appends its row. @returns whether it has passed */
async function prove(name: string, proof: Proof, { seed, rounds = proof.rounds, endMs }: Request): Promise<boolean> {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain', '--', 'src', 'test', 'package-lock.json')
  const revision = git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : ' with changes')
  const startedMs = performance.now()
  const passed: Results[] = []
  let failure = ''
  while (failure === '' && passed.length < rounds && performance.now() < endMs) {
    const { cases = [] } = proof
    const chosen: Proof['environment'] = cases.length === 0 ? {} : { CASE: cases[passed.length % cases.length] ?? '' }
    const environment = { ...proof.environment, ...chosen, SEED: String((seed + passed.length) % 2 ** 32) }
    const { output, results } = await runRound(testsOf(proof.test).map(fileOf), proof.counted, environment)
    if (stopping.signal.aborted) return false
    process.stdout.write(`${name} ${JSON.stringify(environment)}: ${JSON.stringify(results) ?? `FAILED\n${output}`}\n`)
    if (results === undefined) failure = `**failed** with ${JSON.stringify(environment)}`
    else passed.push(results)
    // The remains of a round in its directories are large.
    if (results !== undefined) rmSync(join(root, '.tap/fixtures'), { recursive: true, force: true })
  }
  const took = `${Math.ceil((performance.now() - startedMs) / 60_000)} min, ${passed.length} of ${rounds} rounds`
  const figures = Object.entries(together(passed)).map(([figure, count]) => `${count.toLocaleString('en')} ${figure}`)
  const machine = `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node.js ${process.version}`
  const cells = [name, new Date().toISOString().slice(0, 10), revision, took, failure || 'passed', figures.join(', ')]
  writeFileSync(join(root, resultsPage), withRow(readDocument(resultsPage), [...cells, machine]))
  return failure === ''
}

const usage = `npm run prove -- [NAME…] [--minutes M] [--rounds R] [--seed S]

  --minutes M  start no round of a proof later
  --rounds R   number of rounds of each proof
  --seed S     seed of the first round; each further round adds 1 (default: random)

The proofs (default: all): ${Object.keys(proofs).join(', ')}
`

async function main(): Promise<void> {
  const number = { type: 'string' } as const
  const options = { minutes: number, rounds: number, seed: number }
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const { minutes = Infinity, rounds, seed = Math.floor(Math.random() * 2 ** 31) } = values
  const names = positionals.length > 0 ? positionals : Object.keys(proofs)
  const request = { seed: Number(seed), rounds: rounds === undefined ? undefined : Number(rounds) }
  const isUnderstood = Number(minutes) > 0 && (request.rounds ?? 1) > 0 && request.seed >= 0
  if (!isUnderstood || names.some((name) => proofs[name] === undefined)) throw new Error('invalid argument')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  for (const name of names) {
    const endMs = performance.now() + Number(minutes) * 60_000
    if (!(await prove(name, proofs[name] as Proof, { ...request, endMs }))) process.exitCode = 1
    if (stopping.signal.aborted) process.exit(130)
  }
}

if (process.argv[1] === import.meta.filename) {
  await main().catch((error: Error) => {
    process.stderr.write(`${error.message}\n\n${usage}`)
    process.exitCode = 2
  })
}
