/**
 * Fetching: one topic, or a page of a plan. A page of a plan without a matcher, and of few ranges, is one range scan whose
 * values lmdb hands straight to the page buffer. Otherwise only keys are scanned, jumping where the matcher says so, and
 * the items of matches are read one by one; such a scan works in slices, holds no snapshot between them, and goes on after
 * the last key that it saw, so that whatever stands throughout is found exactly once, in order.
 */
import { scanBytesWaitingMax } from '../../limits.js'
import type { Matcher } from '../../selectors/plan.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { type KeyRange, keyAfter, rangesFrom } from '../../topics/range.js'
import type { TopicType } from '../../topics/topic.js'
import { type Absent, type Awaitable, type Cancellation, Cancelled, type Page, type PageQuery } from '../store.js'
import { sliceMs, tryFirstSlice, waitForSlice } from '../time-slices.js'
import type { Environment, Tree } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { createPageBuffer, type PageBuffer } from './page-buffer.js'
import { readType } from './specification.js'
import { createView } from './views.js'

export interface Reads {
  readTopic(path: Path, type: TopicType): Uint8Array | Absent
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
}

/** Ranges that are read in one go: each costs a seek, some microseconds, and a long set may have thousands. */
const plainRangesMax = 64

/** A scan's own page buffer: thousands of scans may wait for their slices, most of them with nothing found yet. */
const scanBytesAtFirst = 4 * 1024

/** @param shared the page buffer that the environment's page trees copy into */
export function createReads(environment: Environment, snapshots: Snapshots, shared: PageBuffer): Reads {
  const { items, pages, specifications } = environment
  const view = createView()
  let spare: PageBuffer | undefined
  /** What the scans that wait for their next slice have found so far. */
  let scanBytes = 0
  const isCrowded = (): boolean => scanBytes > scanBytesWaitingMax

  function readTopic(path: Path, type: TopicType): Uint8Array | Absent {
    snapshots.forRequest()
    const item = items[type].getBinaryFast(path)
    if (item !== undefined) return view(item, item.length)
    return readType(specifications, path) === undefined ? 'no_such_topic' : 'incompatible_type'
  }

  function readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page> {
    snapshots.forRequest()
    const { plan, after } = query
    const ranges = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
    if (plan.matcher === undefined && ranges.length <= plainRangesMax) return plainPage(query, ranges)
    const buffer = spare ?? createPageBuffer(scanBytesAtFirst)
    spare = undefined
    const scan = startScan(items[query.type], ranges, plan.matcher, query, buffer, isCrowded)
    if (!tryFirstSlice(scan.slice)) return finishInSlices(scan, cancellation)
    spare = buffer
    return scan.page()
  }

  function plainPage({ type, size, bytesMax }: PageQuery, ranges: readonly KeyRange[]): Page {
    let count = 0
    shared.begin()
    for (const range of ranges) {
      for (const { value: bytes } of pages[type].getRange(range)) {
        count++
        if (count > size || (count > 1 && bytes > bytesMax)) {
          shared.dropLast()
          return shared.finish(true)
        }
      }
    }
    return shared.finish(false)
  }

  async function finishInSlices(scan: Scan, cancellation: Cancellation): Promise<Page> {
    let counted = 0
    try {
      for (;;) {
        scanBytes += scan.bytes() - counted
        counted = scan.bytes()
        await waitForSlice()
        if (cancellation.cancelled) throw new Cancelled()
        if (snapshots.alone(scan.slice)) return scan.page()
      }
    } finally {
      scanBytes -= counted
    }
  }

  return { readTopic, readPage }
}

interface Scan {
  /** Works for about `sliceMs`; true when the page is finished. */
  readonly slice: () => boolean
  /** What it has found so far. */
  bytes(): number
  page(): Page
}

/** @param isCrowded whether pages that have something must end early, so that all of them together stay within bounds */
function startScan(
  tree: Tree,
  planned: readonly KeyRange[],
  matcher: Matcher | undefined,
  { size, bytesMax }: PageQuery,
  buffer: PageBuffer,
  isCrowded: () => boolean,
): Scan {
  let ranges = planned
  let count = 0
  let bytes = 0
  let hasMore = false
  buffer.begin()

  /** The page's next item, if it fits; false when the page is full. */
  function take(path: Path): boolean {
    if (count === size || (count > 0 && isCrowded())) return false
    const item = tree.getBinaryFast(path)
    if (item === undefined) return true
    const bytesNow = buffer.copy(item, item.length)
    if (count > 0 && bytesNow > bytesMax) {
      buffer.dropLast()
      return false
    }
    count++
    bytes = bytesNow
    return true
  }

  function slice(): boolean {
    const end = walkKeys(tree, ranges, matcher, (path) => {
      hasMore = !take(path)
      return !hasMore
    })
    ranges = end ?? []
    return end === undefined || hasMore
  }

  return { slice, bytes: () => bytes, page: () => buffer.finish(hasMore) }
}

/**
 * Visits the matching keys of the ranges, in order, for about `sliceMs`.
 *
 * The clock is looked at for every key: that costs a tenth of a step, while one answer of the worst matcher costs as much as
 * a thousand steps.
 *
 * @param visit called with each match; false ends the walk
 * @returns the ranges still to be walked when time is up; undefined when the walk is at its end
 */
export function walkKeys(
  tree: Tree,
  ranges: readonly KeyRange[],
  matcher: Matcher | undefined,
  visit: (path: Path) => boolean,
): readonly KeyRange[] | undefined {
  const deadline = performance.now() + sliceMs
  for (let index = 0, from = ranges[0]?.start; index < ranges.length; ) {
    const { end } = ranges[index]
    let jump: Buffer | undefined
    for (const path of tree.getKeys({ start: from, end }) as Iterable<Path>) {
      const verdict = matcher === undefined || matcher(path)
      if (verdict === true && !visit(path)) return undefined
      if (typeof verdict === 'object') jump = verdict
      if (performance.now() > deadline) return rangesFrom(ranges.slice(index), jump ?? keyAfter(encodeKey(path)))
      if (jump !== undefined) break
    }
    const reached = jump ?? end
    while (index < ranges.length && Buffer.compare(ranges[index].end, reached) <= 0) index++
    if (index === ranges.length) break
    from = Buffer.compare(ranges[index].start, reached) < 0 ? reached : ranges[index].start
    if (jump === undefined && performance.now() > deadline) return ranges.slice(index)
  }
  return undefined
}
