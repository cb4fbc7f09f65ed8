/**
 * Which place each worker or route has among the lines of charts, and so its colour: the same in all charts, and its own
 * for as long as a chart shows it. The place of one that is gone is free for another.
 */
export class LinePlaces {
  readonly #places = new Map<string, number>()

  /** Gives new names the lowest free place, from 0, and frees the places of names that are not in `names`. */
  assign(names: readonly string[]): ReadonlyMap<string, number> {
    for (const name of this.#places.keys()) if (!names.includes(name)) this.#places.delete(name)
    for (const name of names) if (!this.#places.has(name)) this.#places.set(name, this.#lowestFree())
    return this.#places
  }

  #lowestFree(): number {
    const taken = new Set(this.#places.values())
    let place = 0
    while (taken.has(place)) place++
    return place
  }
}
