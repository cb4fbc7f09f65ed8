/**
 * The label under which each API key's requests are counted. The first names that are seen are labels, up to a bound, and
 * all later ones share one. A name keeps its label, so no count ever falls. Workers bound what they count, and the primary
 * bounds the sums, because each worker has seen other names first.
 */
import { keyNamesCountedMax } from '../settings/limits.js'

/** The label of all keys that are not counted by name. A key of this name is counted there as well. */
export const otherKeys = 'other'

export class KeyLabels {
  readonly #names = new Set<string>()

  of(name: string): string {
    if (name === otherKeys || this.#names.has(name)) return name
    if (this.#names.size >= keyNamesCountedMax) return otherKeys
    this.#names.add(name)
    return name
  }
}
