/**
 * The rounds that were run so far, one JSON line each, so that a proof which was interrupted continues. Rounds of
 * another build do not count: they say nothing about this one.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Results, together } from '../proof-results.js'
import type { Circumstances } from './circumstances.js'

export interface Round extends Circumstances {
  readonly proof: string
  /** A digest of the program and of what judged it. */
  readonly build: string
  readonly seed: number
  /** What it was given beside its seed. */
  readonly environment: Readonly<Record<string, string>>
  readonly passed: boolean
  readonly seconds: number
  readonly results: Results
  /** Why someone goes on although it failed. */
  readonly forgiven?: string
}

export class Journal {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The rounds of a proof with this build, oldest first; of one that was entered again, what was entered last. */
  rounds(proof: string, build: string): readonly Round[] {
    const bySeed = new Map<string, Round>()
    for (const round of this.#all()) {
      if (round.proof !== proof || round.build !== build) continue
      bySeed.set(JSON.stringify([round.seed, round.environment]), round)
    }
    return [...bySeed.values()]
  }

  add(round: Round): void {
    mkdirSync(dirname(this.#file), { recursive: true })
    // A line that was broken off, by a power cut for example, must not take the next one with it.
    const text = this.#text()
    const separator = text === '' || text.endsWith('\n') ? '' : '\n'
    appendFileSync(this.#file, `${separator}${JSON.stringify(round)}\n`)
  }

  #text(): string {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : ''
  }

  #all(): Round[] {
    return this.#text()
      .split('\n')
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as Round]
        } catch {
          return []
        }
      })
  }
}

/** The figures of the rounds that passed, together. */
export function figuresOf(rounds: readonly Round[]): Results {
  return together(rounds.filter(({ passed }) => passed).map(({ results }) => results))
}
