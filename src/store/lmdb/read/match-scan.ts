/**
 * Scanning keys in slices: `walkKeys` visits the matching keys of a plan's ranges until its slice is over and returns the
 * ranges that are left; `MatchScan` fills a page in such slices.
 *
 * Only keys are scanned, jumping where the matcher says so, and the items of matches are read one by one. No snapshot
 * is held between slices: a scan continues after the last key that it saw, so that a topic that exists throughout is
 * found exactly once, in order. The caller schedules the slices.
 */

import type { Slice } from '../../../base/time-slices.js'
import type { Matcher, Plan } from '../../../selectors/plan.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../../topics/range.js'
import type { Page, PageQuery } from '../../topics.js'
import type { Tree } from '../environment/environment.js'
import type { PageBuffer } from './page-buffer.js'

/** What a scan visits, and how it reads the items of what it finds. */
export interface ScanSource {
  /** The database whose keys are scanned. */
  readonly tree: Tree
  /** The item of a topic, valid until the next call; undefined without one. */
  readonly readItem: (path: Path) => Buffer | undefined
}

/** A page of a plan with a matcher, of many ranges, or of items that are not stored so, in slices. */
export class MatchScan {
  readonly #matcher: Matcher | undefined
  readonly #size: number
  readonly #bytesMax: number
  #ranges: readonly KeyRange[]
  #count = 0
  #bytes = 0
  #hasMore = false

  /**
   * @param isCrowded whether non-empty pages must end early, so that all unfinished pages together stay within bounds
   */
  constructor(
    private readonly source: ScanSource,
    { ranges, matcher }: Plan,
    { size, bytesMax }: Pick<PageQuery, 'size' | 'bytesMax'>,
    private readonly buffer: PageBuffer,
    private readonly isCrowded: () => boolean,
  ) {
    this.#matcher = matcher
    this.#size = size
    this.#bytesMax = bytesMax
    this.#ranges = ranges
    buffer.begin()
  }

  /** Works until the slice is over; returns whether the page is finished. */
  readonly fill = (slice: Slice): boolean => {
    const left = walkKeys(this.source.tree, this.#ranges, this.#matcher, this.#visit, slice)
    this.#ranges = left ?? []
    return left === undefined || this.#hasMore
  }

  /** The size of the items found so far, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  page(): Page {
    return this.buffer.finish(this.#hasMore)
  }

  readonly #visit = (path: Path): boolean => {
    this.#hasMore = !this.#take(path)
    return !this.#hasMore
  }

  /** Adds the topic's item if it fits; false when the page is full. */
  #take(path: Path): boolean {
    if (this.#count === this.#size || (this.#count > 0 && this.isCrowded())) return false
    const item = this.source.readItem(path)
    if (item === undefined) return true
    const bytes = this.buffer.copy(item, item.length)
    if (this.#count > 0 && bytes > this.#bytesMax) {
      this.buffer.dropLast()
      return false
    }
    this.#count++
    this.#bytes = bytes
    return true
  }
}

/**
 * Visits the matching keys of the ranges, in order, until the slice is over.
 *
 * The clock is read for every key: that costs a tenth of a step, while one call of the worst matcher costs as much as a
 * thousand steps.
 *
 * @param visit called with each match; false ends the walk
 * @returns the ranges that are left when time is up; undefined when the walk has ended
 */
export function walkKeys(
  tree: Tree,
  ranges: readonly KeyRange[],
  matcher: Matcher | undefined,
  visit: (path: Path) => boolean,
  slice: Slice,
): readonly KeyRange[] | undefined {
  let index = 0
  let range = ranges[0]
  let from = range?.start
  while (range !== undefined) {
    const { end } = range
    let jump: Buffer | undefined
    for (const path of tree.getKeys({ start: from, end }) as Iterable<Path>) {
      const verdict = matcher === undefined || matcher(path, slice)
      if (verdict === true && !visit(path)) return undefined
      if (typeof verdict === 'object') jump = verdict
      if (slice.isOver()) return rangesFrom(ranges.slice(index), jump ?? keyAfter(encodeKey(path)))
      if (jump !== undefined) break
    }
    const reached = jump ?? end
    while (range !== undefined && Buffer.compare(range.end, reached) <= 0) range = ranges[++index]
    if (range === undefined) break
    from = Buffer.compare(range.start, reached) < 0 ? reached : range.start
    if (jump === undefined && slice.isOver()) return ranges.slice(index)
  }
  return undefined
}
