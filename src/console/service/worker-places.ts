/**
 * Which place each worker has among lines, and so its colour: the same in all charts, and its own for as long as a chart
 * shows it. The place of one that is gone is free for another.
 */
export class WorkerPlaces {
  readonly #places = new Map<string, number>()

  /**
   * Gives the lowest free place to each of these that has none, and frees those of all others.
   *
   * @param pids the process ids of all workers that are shown
   * @returns their places, from 0
   */
  assign(pids: readonly string[]): ReadonlyMap<string, number> {
    for (const pid of this.#places.keys()) if (!pids.includes(pid)) this.#places.delete(pid)
    for (const pid of pids) if (!this.#places.has(pid)) this.#places.set(pid, this.#lowestFree())
    return this.#places
  }

  #lowestFree(): number {
    const taken = new Set(this.#places.values())
    let place = 0
    while (taken.has(place)) place++
    return place
  }
}
