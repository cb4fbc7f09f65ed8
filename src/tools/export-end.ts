/** Checks that exports, one or several in a row, are complete: the last line of each counts the others. */
import { WrongLine } from './import-line.js'

/** The rest of a sentence about an input whose last line is not the end of an export. */
export const unfinished = 'lacks the last line of an export, so it may be truncated'

export const unfinishedAdvice = 'if it is complete, as an export from an earlier version may be, use --allow-unfinished'

export class ExportEnd {
  #lines = 0
  #isEnded = false

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Counts a line of a topic or a key. */
  count(): void {
    this.#lines++
    this.#isEnded = false
  }

  /**
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
