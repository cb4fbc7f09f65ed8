/**
 * Which place each worker has among lines, and so its colour: the same in all charts, and its own for as long as a chart
 * shows it. The place of one that is gone is free for another.
 */
export class WorkerPlaces {
  readonly #places = new Map<string, number>()

  /** Gives new workers the lowest free place, from 0, and frees the places of workers that are not in `pids`. */
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
