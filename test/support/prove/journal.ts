/**
 * The rounds that were run so far, one JSON line each, so that a proof which was interrupted continues. Rounds of
 * another build, or of another version of the test, do not count: they say nothing about this one.
 */
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Figures } from '../figures.js'

export interface Round {
  readonly proof: string
  /** Of the program and the test; see `buildOf`. */
  readonly build: string
  readonly seed: number
  readonly passed: boolean
  readonly seconds: number
  readonly figures: Figures
}

export class Journal {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The rounds of a proof with this build, oldest first. */
  rounds(proof: string, build: string): readonly Round[] {
    if (!existsSync(this.#file)) return []
    return readFileSync(this.#file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Round)
      .filter((round) => round.proof === proof && round.build === build)
  }

  add(round: Round): void {
    mkdirSync(dirname(this.#file), { recursive: true })
    appendFileSync(this.#file, `${JSON.stringify(round)}\n`)
  }
}

/** A digest of the built program and of a built test. */
export function buildOf(programDirectory: string, testFile: string): string {
  const built = readdirSync(programDirectory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .sort()
    .map((name) => join(programDirectory, name))
  const hash = createHash('sha256')
  for (const file of [...built, testFile]) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}
