/** How many requests of each API key were answered, in numbers that only grow. The answer to a request adds to its key's count. */
import { KeyLabels, otherKeys } from './key-labels.js'

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
