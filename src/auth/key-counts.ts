/**
 * Counts the answered requests of each API key; the counts only grow. Each response adds one to its key's count.
 * Workers limit the number of counted names. The primary limits the sums as well, because each worker sees different names first.
 */
import { keyNamesCountedMax } from '../settings/limits.js'

/** The label shared by all keys that are not counted by name. A key with this name is counted under it as well. */
const otherKeys = 'other'

/** Names become labels in the order they are seen, up to a limit; all later names share one label. A name keeps its label. */
export class KeyLabels {
  readonly #names = new Set<string>()

  of(name: string): string {
    if (name === otherKeys || this.#names.has(name)) return name
    if (this.#names.size >= keyNamesCountedMax) return otherKeys
    this.#names.add(name)
    return name
  }
}

/** The count of one key, or of all keys that share a label. */
export interface KeyCount {
  requests: number
}

export class KeyCounts {
  readonly #labels = new KeyLabels()
  readonly #byLabel = new Map<string, KeyCount>([[otherKeys, { requests: 0 }]])

  /** The count object of this key: the same one even if the key is revoked and created again. */
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
