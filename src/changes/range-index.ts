/** Finds the sets of key ranges that contain a key: an interval tree in an array. New ranges are first searched linearly. */

/** A half-open range of keys, as key texts (topics/key.ts). */
interface TextRange {
  readonly start: string
  readonly end: string
}

interface Entry<T> extends TextRange {
  readonly value: T
  isRemoved: boolean
}

/** A larger set of ranges is searched as one range that spans all of them. */
const rangesOfOneMax = 64

/** Maximum entries that are searched linearly before all entries are sorted again. */
const unsortedMax = 64

export class RangeIndex<T> {
  #sorted: Entry<T>[] = []
  /** For each entry, the greatest end in the part of `#sorted` whose middle is that entry. */
  #ends: string[] = []
  #unsorted: Entry<T>[] = []
  readonly #entries = new Map<T, readonly Entry<T>[]>()
  #removed = 0

  /** The number of stored ranges, including ranges of removed values: at most about twice the number of live ranges. */
  get heldRanges(): number {
    return this.#sorted.length + this.#unsorted.length
  }

  /** @param ranges sorted and disjoint */
  add(ranges: readonly TextRange[], value: T): void {
    const [first] = ranges
    const last = ranges.at(-1)
    if (first === undefined || last === undefined) return
    const searched = ranges.length > rangesOfOneMax ? [{ start: first.start, end: last.end }] : ranges
    const entries = searched.map(({ start, end }) => ({ start, end, value, isRemoved: false }))
    this.#entries.set(value, entries)
    this.#unsorted.push(...entries)
  }

  remove(value: T): void {
    for (const entry of this.#entries.get(value) ?? []) {
      entry.isRemoved = true
      this.#removed++
    }
    this.#entries.delete(value)
    // Otherwise entries added and removed between searches would accumulate.
    if (this.#removed > unsortedMax + this.heldRanges / 2) this.#sort()
  }

  /** Visits the values whose ranges may contain the key, until the visitor returns false. @returns false if the visitor did */
  visit(key: string, visitor: (value: T) => boolean): boolean {
    if (this.#unsorted.length > unsortedMax || this.#removed > unsortedMax) this.#sort()
    for (const { start, end, value, isRemoved } of this.#unsorted) {
      if (!isRemoved && start <= key && key < end && !visitor(value)) return false
    }
    return this.#search(0, this.#sorted.length, key, visitor)
  }

  #search(from: number, to: number, key: string, visitor: (value: T) => boolean): boolean {
    if (from >= to) return true
    const middle = (from + to) >> 1
    if ((this.#ends[middle] as string) <= key) return true
    if (!this.#search(from, middle, key, visitor)) return false
    const { start, end, value, isRemoved } = this.#sorted[middle] as Entry<T>
    if (key < start) return true
    if (key < end && !isRemoved && !visitor(value)) return false
    return this.#search(middle + 1, to, key, visitor)
  }

  #sort(): void {
    this.#sorted = [...this.#entries.values()].flat().sort((a, b) => (a.start < b.start ? -1 : 1))
    this.#unsorted = []
    this.#removed = 0
    this.#ends = Array.from({ length: this.#sorted.length }, () => '')
    this.#measure(0, this.#sorted.length)
  }

  /** Stores the greatest ends within this part. @returns the greatest end of the whole part */
  #measure(from: number, to: number): string {
    if (from >= to) return ''
    const middle = (from + to) >> 1
    const { end } = this.#sorted[middle] as Entry<T>
    const left = this.#measure(from, middle)
    const right = this.#measure(middle + 1, to)
    const [greatest = end] = [left, right, end].sort().reverse()
    this.#ends[middle] = greatest
    return greatest
  }
}
