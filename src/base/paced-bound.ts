/**
 * How much is done at once where nobody knows how long it takes, such as on a disk that may be slow: little at first, then
 * twice as much while that is quick, and half as much when it was slow.
 */

/** As much as the slowest disk that is of any use writes in seconds, and a quick one in a millisecond. */
const boundMin = 250

/** Twice as much will not be slow. Far more than what a disk takes for anything at all. */
const quickMs = 1000

/** Far from what counts as hanging, even if the next takes twice as long. */
const slowMs = 3000

export class PacedBound {
  #value = boundMin

  /** @param max the bound where everything is quick */
  constructor(private readonly max: number) {}

  get value(): number {
    return this.#value
  }

  /**
   * @param isFull true if the bound was reached
   * @param bound its value at the start: of several that started with it, the first one changes it
   */
  took(ms: number, isFull: boolean, bound = this.#value): void {
    if (bound !== this.#value) return
    if (ms > slowMs) this.#value = Math.max(boundMin, this.#value / 2)
    else if (isFull && ms < quickMs) this.#value = Math.min(this.max, 2 * this.#value)
  }
}
