/**
 * Under which label the metrics show the requests of each API key. The first names that are seen are labels, up to a
 * bound for the whole service, and all later ones share one. A name keeps its label, so that no count ever falls.
 */
import { type KeyRequests, otherKeys } from '../../auth/key-counts.js'
import { keyNamesCountedMax } from '../../settings/limits.js'

export class KeyLabels {
  readonly #names = new Set<string>()

  /** The counts of one worker by label; each label at most once. */
  labelled(requests: KeyRequests): ReadonlyMap<string, number> {
    const byLabel = new Map<string, number>()
    for (const [name, count] of requests) {
      const label = this.#labelOf(name)
      byLabel.set(label, (byLabel.get(label) ?? 0) + count)
    }
    return byLabel
  }

  #labelOf(name: string): string {
    if (name === otherKeys || this.#names.has(name)) return name
    if (this.#names.size >= keyNamesCountedMax) return otherKeys
    this.#names.add(name)
    return name
  }
}
