/**
 * How many requests of each API key were answered, in numbers that only grow. The keys that are used first are counted
 * by name, up to a bound, and all others together. Whoever answers a request adds to its key's count.
 */
import { keyNamesCountedMax } from '../settings/limits.js'

/** The count of one key, or of all those without a name of their own. */
export interface KeyCount {
  requests: number
}

/** Counts by name. */
export type KeyRequests = readonly (readonly [name: string, requests: number])[]

/** The name of the count of all keys that are not counted by theirs. A key of this name is counted there, too. */
export const otherKeys = 'other'

export class KeyCounts {
  readonly #byName = new Map<string, KeyCount>()
  readonly #others: KeyCount = { requests: 0 }

  /** The count of this key: always the same, even if the key is revoked and made again. */
  of(name: string): KeyCount {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (name === otherKeys || this.#byName.size >= keyNamesCountedMax) return this.#others
    const count = { requests: 0 }
    this.#byName.set(name, count)
    return count
  }

  read(): KeyRequests {
    return [
      ...[...this.#byName].map(([name, { requests }]) => [name, requests] as const),
      [otherKeys, this.#others.requests],
    ]
  }
}
