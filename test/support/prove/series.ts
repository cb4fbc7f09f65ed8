/**
 * The rounds of one proof, until it is complete, one fails, or time is up. How a round is run, and where the result is
 * written, is not known here.
 */
import { type Figures, together } from '../figures.js'
import type { Journal, Round } from './journal.js'
import type { Proof } from './proofs.js'
import { durationText } from './table.js'

export type Outcome = 'complete' | 'failed' | 'time was up'

export interface Ended extends Pick<Round, 'passed' | 'seconds' | 'figures'> {
  readonly output: string
}

export interface SeriesOptions {
  readonly journal: Journal
  readonly build: string
  /** Of the first round; each further one adds 1. */
  readonly seed: number
  /** No round begins after this, on performance.now(). */
  readonly endMs: number
  readonly run: (seed: number, left: number, secondsLeft: number) => Promise<Ended>
  readonly print: (text: string) => void
}

/** The figures of the rounds that passed, together. */
export function figuresOf(rounds: readonly Round[]): Figures {
  return together(rounds.filter(({ passed }) => passed).map(({ figures }) => figures))
}

/** Runs what is missing of a proof; each round is in the journal as soon as it has ended. */
export async function runSeries(
  name: string,
  { counted, goal }: Proof,
  { journal, build, seed, endMs, run, print }: SeriesOptions,
): Promise<Outcome> {
  for (;;) {
    const rounds = journal.rounds(name, build)
    const left = goal - (figuresOf(rounds)[counted] ?? 0)
    if (left <= 0) return 'complete'
    const secondsLeft = (endMs - performance.now()) / 1000
    if (secondsLeft <= 0) return 'time was up'
    const roundSeed = (seed + rounds.length) % 2 ** 32
    print(`${name}: ${left} of ${goal} ${counted} left; round ${rounds.length + 1}, SEED=${roundSeed}\n`)
    const { output, ...round } = await run(roundSeed, left, secondsLeft)
    journal.add({ proof: name, build, seed: roundSeed, ...round })
    print(
      `  ${round.passed ? 'passed' : 'FAILED'} after ${durationText(round.seconds)}: ${JSON.stringify(round.figures)}\n`,
    )
    if (!round.passed) {
      print(`${output}\n${name}: FAILED; SEED=${roundSeed} replays it\n`)
      return 'failed'
    }
  }
}
