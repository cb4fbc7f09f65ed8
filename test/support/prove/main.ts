/**
 * Runs the long proofs: `npm run prove -- [NAME…] [--hours H] [--seed S]`, all of them by default. Each is a series of
 * rounds of one test; finished rounds are kept in .prove/, so a run that was interrupted continues. When a proof has been
 * run in full, its row in docs/guarantees.md is written anew.
 *
 * A round that fails ends its proof; its output is shown, and kept in .prove/ too. The exit status is 0 if every proof is complete, 1 if a
 * round failed, 3 if time was up before, and 2 for a wrong command line.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readDocument, root } from '../documents.js'
import { buildOf, Journal } from './journal.js'
import { type Proof, proofs } from './proofs.js'
import { fileOf, runRound } from './rounds.js'
import { figuresOf, type Outcome, runSeries } from './series.js'
import { tablePage, withMutants, withRow } from './table.js'

const usage = `npm run prove -- [NAME…] [--hours H] [--seed S]

  --hours H   no round begins later than this (default: no limit)
  --seed S    of the first round; each further one adds 1 (default: random)

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
}

/** @throws when something of it is wrong */
function readCommandLine(): Request {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { hours: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } },
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
  return { names: positionals.length > 0 ? positionals : Object.keys(proofs), hours, seed }
}

function writeRow(name: string, proof: Proof, build: string): void {
  const rounds = journal.rounds(name, build)
  const passed = rounds.filter((round) => round.passed)
  const page = withRow(withMutants(readDocument(tablePage)), name, proof, figuresOf(rounds), {
    seconds: passed.reduce((sum, { seconds }) => sum + seconds, 0),
    failed: rounds.length - passed.length,
    rounds: rounds.length,
    revision: revision(),
    day: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1024 ** 3)} GiB`,
  })
  writeFileSync(join(root, tablePage), page)
}

function revision(): string {
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain', '--', 'src', 'test', 'package-lock.json')
  return git('rev-parse', '--short', 'HEAD') + (changes === '' ? '' : ' with changes')
}

async function main({ names, hours, seed }: Request): Promise<void> {
  const endMs = performance.now() + hours * 3_600_000
  const outcomes: Outcome[] = []
  for (const name of names) {
    const proof = proofs[name] as Proof
    const build = buildOf(join(root, 'dist'), fileOf(proof))
    const outcome = await runSeries(name, proof, {
      journal,
      build,
      seed,
      endMs,
      run: async (...round) => {
        const ended = await runRound(proof, ...round)
        mkdirSync(kept, { recursive: true })
        if (!ended.passed) writeFileSync(join(kept, `${name}-${round[0]}.log`), ended.output)
        return ended
      },
      print: (text) => process.stdout.write(text),
    })
    if (outcome === 'complete') writeRow(name, proof, build)
    process.stdout.write(`${name}: ${outcome}\n`)
    outcomes.push(outcome)
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
