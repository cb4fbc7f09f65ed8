/** Checks that one or more consecutive exports are complete: the last line of each states the number of its other lines. */
import { WrongLine } from './import-line.js'

/** The rest of a sentence about an input whose last line is not the end of an export. */
export const unfinished = 'does not end with the last line of an export, so it may be truncated'

export const unfinishedAdvice = 'if it is complete (earlier versions wrote no such line), use --allow-unfinished'

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
   * @param lines the number of earlier lines, as stated by the end line; undefined to skip the check
   * @throws WrongLine if the number differs
   */
  end(lines: number | undefined): void {
    if (lines !== undefined && lines !== this.#lines) {
      throw new WrongLine(
        `This line ends an export of ${lines} lines, but the number of lines before it is ${this.#lines}; if lines were omitted on purpose, use --allow-unfinished`,
      )
    }
    this.#lines = 0
    this.#isEnded = true
  }
}
