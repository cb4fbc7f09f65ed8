/**
 * Runs the long proofs: `npm run prove -- [NAME…] [--hours H] [--seed S]`, all of them by default. Each is a series of
 * rounds of one test; finished rounds are kept in .prove/, so a run that was interrupted continues. When a proof has been
 * run in full, its results in docs/verification.md are replaced.
 *
 * A round that fails ends its proof; its output is shown, and kept in .prove/ too. `--forgive REASON` goes on after it,
 * and its results tell of it. The exit status is 0 if every proof is complete, 1 if a round failed, 3 if time was up before,
 * 2 for a wrong command line, and 130 after an interruption.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readDocument, root } from '../documents.js'
import { buildOf } from './build.js'
import { circumstancesNow } from './circumstances.js'
import { Journal } from './journal.js'
import { resultsPage, withMutants, withResults } from './page.js'
import { type Proof, proofs } from './proofs.js'
import { commandOf, fileOf, runRound } from './rounds.js'
import { forgive, type Outcome, runSeries } from './series.js'

const usage = `npm run prove -- [NAME…] [--hours H] [--seed S] [--forgive REASON]

  --hours H         no round begins that would take longer (default: no limit)
  --seed S          of the first round; each further one adds 1 (default: random)
  --forgive REASON  goes on after rounds that failed; the page will give the reason

${Object.entries(proofs)
  .map(([name, { claim }]) => `  ${name.padEnd(12)} ${claim}`)
  .join('\n')}
`

/** Where rounds are kept, and the output of those that failed. */
const kept = join(root, '.prove')
const journal = new Journal(join(kept, 'rounds.jsonl'))

interface Request {
  readonly names: readonly string[]
  readonly hours: number
  readonly seed: number
  readonly forgive: string | undefined
}

/** @throws when something of it is wrong */
function readCommandLine(): Request {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      hours: { type: 'string' },
      seed: { type: 'string' },
      forgive: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    process.exit(0)
  }
  const unknown = positionals.find((name) => proofs[name] === undefined)
  if (unknown !== undefined) throw new Error(`there is no proof called ${unknown}`)
  const hours = Number(values.hours ?? Infinity)
  if (!(hours > 0)) throw new Error(`--hours ${values.hours} is not a positive number`)
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
    throw new Error('--seed must be a whole number below 2^31')
  const names = positionals.length > 0 ? positionals : Object.keys(proofs)
  return { names, hours, seed, forgive: values.forgive }
}

/** The page as it will be, so that a page which cannot be written is known before hours have passed. */
function pageWith(name: string, proof: Proof, build: string): string {
  return withResults(withMutants(readDocument(resultsPage)), name, proof, journal.rounds(name, build))
}

async function prove(name: string, { hours, seed, ...request }: Request, stop: AbortSignal): Promise<Outcome> {
  const proof = proofs[name] as Proof
  const buildNow = (): string => buildOf(root, fileOf(proof), proof.runsOtherTests)
  const build = buildNow()
  pageWith(name, proof, build)
  if (request.forgive !== undefined) {
    process.stdout.write(`${name}: ${forgive(journal, name, build, request.forgive)} failed rounds forgiven\n`)
  }
  const outcome = await runSeries(name, proof, {
    journal,
    buildNow,
    circumstancesNow,
    seed,
    endMs: startedMs + hours * 3_600_000,
    async run(roundSeed, environment) {
      const ended = await runRound(proof, roundSeed, environment, stop)
      mkdirSync(kept, { recursive: true })
      if (!ended.passed) writeFileSync(join(kept, `${name}-${roundSeed}.log`), ended.output)
      return ended
    },
    command: (roundSeed, environment) => commandOf(proof, roundSeed, environment),
    print: (text) => process.stdout.write(text),
  })
  if (outcome === 'complete') writeFileSync(join(root, resultsPage), pageWith(name, proof, build))
  process.stdout.write(`${name}: ${outcome}\n`)
  return outcome
}

const startedMs = performance.now()

async function main(request: Request): Promise<void> {
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  const outcomes: Outcome[] = []
  try {
    for (const name of request.names) outcomes.push(await prove(name, request, stopping.signal))
  } catch (error) {
    if (!stopping.signal.aborted) throw error
    process.stdout.write('interrupted; finished rounds are kept\n')
    process.exitCode = 130
    return
  }
  if (outcomes.includes('failed')) process.exitCode = 1
  else if (outcomes.includes('time was up')) process.exitCode = 3
}

let request: Request | undefined
try {
  request = readCommandLine()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n\n${usage}`)
  process.exitCode = 2
}
if (request !== undefined) await main(request)
