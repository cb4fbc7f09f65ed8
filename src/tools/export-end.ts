/**
 * Whether the lines of an export are all there: each export ends with a line that counts those before it. Exports may
 * follow one another. Nothing here parses a topic.
 */
import { WrongLine } from './import-line.js'

/** What to say of an input whose last line is not the end of an export, as the rest of a sentence about it. */
export const unfinished = 'lacks the last line of an export, so it may be truncated'

/** What to do about it. */
export const unfinishedAdvice = 'if it is complete, as an export from an earlier version may be, use --allow-unfinished'

export class ExportEnd {
  #lines = 0
  #isEnded = false

  /** Whether the last line was the end of an export. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Counts a line of a topic or a key. */
  count(): void {
    this.#lines++
    this.#isEnded = false
  }

  /**
   * Takes the end of an export; the next line begins another.
   *
   * @param lines how many lines it says came before it; undefined for one that is not checked
   * @throws WrongLine when there were more or fewer
   */
  end(lines: number | undefined): void {
    if (lines !== undefined && lines !== this.#lines) {
      throw new WrongLine(
        `It is the last line of an export of ${lines} lines, but ${this.#lines} came before it; if some were left out on purpose, use --allow-unfinished`,
      )
    }
    this.#lines = 0
    this.#isEnded = true
  }
}
