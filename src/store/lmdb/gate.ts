/**
 * Gathers the writes of several turns of the event loop before they are given to lmdb, so that a commit, whose cost
 * hardly depends on the number of its writes, holds more of them. Only the order and the moment are decided here; what
 * a write does, and how it is counted, is in commits.ts.
 *
 * States: empty → gathering (a write waits; the gate looks once a turn whether the turn has brought more) → empty, when
 * a turn brought none or `gateTurnsMax` have passed. A write that nothing else accompanies passes at once: the last
 * time the gate opened for one write only, and no commit is in flight.
 */
import { gateTurnsMax } from '../../limits.js'

export class Gate {
  #waiting: (() => void)[] = []
  #seen = 0
  #turns = 0
  /** How many writes passed when the gate was last opened. */
  #lastCount = 0

  /**
   * Calls `enqueue`, which must not throw, when the gate opens: in this turn or a later one, after every write that
   * came before it.
   *
   * @param inFlight whether another write is between here and the disk
   */
  pass(enqueue: () => void, inFlight: boolean): void {
    const waiting = this.#waiting
    if (waiting.length === 0) {
      if (!inFlight && this.#lastCount <= 1) {
        this.#lastCount = 1
        enqueue()
        return
      }
      this.#seen = 0
      this.#turns = 0
      setImmediate(this.#onTurn)
    }
    waiting.push(enqueue)
  }

  readonly #onTurn = (): void => {
    const count = this.#waiting.length
    if (count > this.#seen && ++this.#turns < gateTurnsMax) {
      this.#seen = count
      setImmediate(this.#onTurn)
      return
    }
    const waiting = this.#waiting
    this.#waiting = []
    this.#lastCount = count
    for (const enqueue of waiting) enqueue()
  }
}
