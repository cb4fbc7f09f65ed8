/**
 * The rounds of one proof, until it is complete, one fails, or time is up. How a round is run, and where the result is
 * written, is not known here.
 */
import type { Circumstances } from './circumstances.js'
import { figuresOf, type Journal, type Round } from './journal.js'
import { durationText } from './page.js'
import type { Proof } from './proofs.js'

export type Outcome = 'complete' | 'failed' | 'time was up'

export interface Ended extends Pick<Round, 'passed' | 'seconds' | 'results'> {
  readonly output: string
}

export interface SeriesOptions {
  readonly journal: Journal
  /** The digest of what is proved, as it is now. */
  readonly buildNow: () => string
  readonly circumstancesNow: () => Circumstances
  /** Of the first round of this run; each further one adds 1. */
  readonly seed: number
  /** No round begins that would end after this, on performance.now(). */
  readonly endMs: number
  readonly run: (seed: number, environment: Round['environment']) => Promise<Ended>
  /** The command that repeats a round. */
  readonly command: (seed: number, environment: Round['environment']) => string
  readonly print: (text: string) => void
}

/** What is missing of a proof: how much, and for one with cases, the next of them. */
function missing({ cases, counted, goal }: Proof, rounds: readonly Round[]): { left: number; next?: string } {
  if (cases === undefined) return { left: goal - (figuresOf(rounds)[counted] ?? 0) }
  const done = new Set(rounds.flatMap(({ passed, environment }) => (passed ? (environment.CASE ?? []) : [])))
  const [next = '', ...later] = cases.filter((name) => !done.has(name))
  return next === '' ? { left: 0 } : { left: 1 + later.length, next }
}

/**
 * Runs what is missing of a proof; each round is in the journal as soon as it has ended. After one that failed, none is
 * run before somebody forgives it: what is lost now and then is lost.
 */
export async function runSeries(name: string, proof: Proof, options: SeriesOptions): Promise<Outcome> {
  const { journal, buildNow, circumstancesNow, seed, endMs, run, command, print } = options
  const build = buildNow()
  for (let count = 0; ; count++) {
    const rounds = journal.rounds(name, build)
    const failed = rounds.find(({ passed, forgiven }) => !passed && forgiven === undefined)
    if (failed !== undefined) {
      print(`${name}: SEED=${failed.seed} has FAILED. To repeat it:\n  ${command(failed.seed, failed.environment)}\n`)
      return 'failed'
    }
    const { left, next } = missing(proof, rounds)
    if (left <= 0) return 'complete'
    if ((endMs - performance.now()) / 1000 < proof.roundSeconds) return 'time was up'
    const roundSeed = (seed + count) % 2 ** 32
    const environment = { ...proof.environment(left), ...(next === undefined ? {} : { CASE: next }) }
    const of = next === undefined ? '' : `, ${next}`
    print(
      `${name}: ${left} of ${proof.goal} ${proof.counted} left; round ${rounds.length + 1}, SEED=${roundSeed}${of}\n`,
    )
    const circumstances = circumstancesNow()
    const { output, ...round } = await run(roundSeed, environment)
    if (buildNow() !== build) {
      print(`${name}: the program or its tests were built anew meanwhile, so this round does not count\n`)
      return 'failed'
    }
    journal.add({ proof: name, build, seed: roundSeed, environment, ...circumstances, ...round })
    print(
      `  ${round.passed ? 'passed' : 'FAILED'} after ${durationText(round.seconds)}: ${JSON.stringify(round.results)}\n`,
    )
    if (!round.passed) print(`${output}\n`)
  }
}

/** Goes on after failed rounds, whose number the table will tell. @returns how many that were */
export function forgive(journal: Journal, name: string, build: string, reason: string): number {
  const failed = journal.rounds(name, build).filter((round) => !round.passed && round.forgiven === undefined)
  for (const round of failed) journal.add({ ...round, forgiven: reason })
  return failed.length
}
