/**
 * A batch size for work whose duration cannot be predicted, for example on a disk that may be slow. It starts small,
 * doubles while batches are quick, and halves after a slow batch.
 */

/** The slowest usable disk needs a few seconds to write this many operations, a quick disk a millisecond. */
const boundMin = 250

/** After a quicker batch, a batch twice as large will not be slow. This is far longer than the minimum time of a write on any disk. */
const quickMs = 1000

/** Far below the time that counts as a hang, even if the next batch takes twice as long. */
const slowMs = 3000

export class PacedBound {
  #value = boundMin

  /** @param max the upper limit of the bound */
  constructor(private readonly max: number) {}

  get value(): number {
    return this.#value
  }

  /**
   * Reports the duration of a batch.
   *
   * @param isFull true if the batch reached the bound
   * @param bound the bound at the start of the batch: if several batches started with one bound, only the first changes it
   */
  took(ms: number, isFull: boolean, bound = this.#value): void {
    if (bound !== this.#value) return
    if (ms > slowMs) this.#value = Math.max(boundMin, this.#value / 2)
    else if (isFull && ms < quickMs) this.#value = Math.min(this.max, 2 * this.#value)
  }
}
