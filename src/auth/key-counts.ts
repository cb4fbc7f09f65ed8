/**
 * How many requests of each API key were answered, in numbers that only grow. The answer to a request adds to its key's count.
 * Workers bound the names that they count, and the primary bounds the sums, because each worker has seen other names first.
 */
import { keyNamesCountedMax } from '../settings/limits.js'

/** The label of all keys that are not counted by name. A key of this name is counted there as well. */
const otherKeys = 'other'

/** The first names that are seen are labels, up to a bound, and all later ones share one. A name keeps its label. */
export class KeyLabels {
  readonly #names = new Set<string>()

  of(name: string): string {
    if (name === otherKeys || this.#names.has(name)) return name
    if (this.#names.size >= keyNamesCountedMax) return otherKeys
    this.#names.add(name)
    return name
  }
}

/** The count of one key, or of all those that share a label. */
export interface KeyCount {
  requests: number
}

export class KeyCounts {
  readonly #labels = new KeyLabels()
  readonly #byLabel = new Map<string, KeyCount>([[otherKeys, { requests: 0 }]])

  /** The count of this key: always the same, even if the key is revoked and created again. */
  of(name: string): KeyCount {
    const label = this.#labels.of(name)
    const count = this.#byLabel.get(label) ?? { requests: 0 }
    this.#byLabel.set(label, count)
    return count
  }

  read(): readonly (readonly [label: string, requests: number])[] {
    return [...this.#byLabel].map(([label, { requests }]) => [label, requests])
  }
}
