/**
 * Fetching: one topic, or a page of a plan. A page of a plan without a matcher is one range scan whose values lmdb hands
 * straight to the page buffer. With a matcher only keys are scanned, jumping where the matcher says so, and the items of
 * matches are read one by one; such a scan works in slices, holds no snapshot between them, and goes on after the last
 * key that it saw, so that whatever stands throughout is found exactly once, in order.
 */
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import type { Matcher } from '../../topics/plan.js'
import { intersectRanges, keyAfter, type KeyRange, rangesFrom } from '../../topics/range.js'
import type { TopicType } from '../../topics/topic.js'
import { nextSlice, sliceMs } from '../slices.js'
import { type Absent, type Awaitable, type Cancellation, Cancelled, type Page, type PageQuery } from '../store.js'
import type { Environment, Tree } from './environment.js'
import { createPageBuffer, type PageBuffer } from './page-buffer.js'
import type { Snapshots } from './snapshot.js'
import { typeOf } from './specification.js'

export interface Reads {
  readTopic(path: Path, type: TopicType): Uint8Array | Absent
  readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page>
}

/** Keys visited between two looks at the clock. */
const keysPerLook = 32

/** @param shared the page buffer that the environment's page trees copy into */
export function createReads(environment: Environment, snapshots: Snapshots, shared: PageBuffer): Reads {
  const { items, pages, specifications } = environment
  let spare: PageBuffer | undefined

  function readTopic(path: Path, type: TopicType): Uint8Array | Absent {
    snapshots.forRequest()
    const item = items[type].getBinaryFast(path)
    // lmdb sets the length of its reused buffer by hand, so only a view made of the parts is what it seems to be.
    if (item !== undefined) return new Uint8Array(item.buffer, item.byteOffset, item.length)
    return typeOf(specifications, path) === undefined ? 'no_such_topic' : 'incompatible_type'
  }

  function readPage(query: PageQuery, cancellation: Cancellation): Awaitable<Page> {
    snapshots.forRequest()
    const { plan, after } = query
    const ranges = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
    if (plan.matcher === undefined) return plainPage(query, ranges)
    const buffer = spare ?? createPageBuffer()
    spare = undefined
    const scan = startScan(items[query.type], ranges, plan.matcher, query, buffer)
    if (scan.slice()) {
      spare = buffer
      return scan.page()
    }
    return finishInSlices(scan, cancellation)
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
    do {
      await nextSlice()
      if (cancellation.cancelled) throw new Cancelled()
    } while (!snapshots.alone(scan.slice))
    return scan.page()
  }

  return { readTopic, readPage }
}

interface Scan {
  /** Works for about `sliceMs`; true when the page is finished. */
  readonly slice: () => boolean
  page(): Page
}

function startScan(
  tree: Tree,
  planned: readonly KeyRange[],
  matcher: Matcher,
  { size, bytesMax }: PageQuery,
  buffer: PageBuffer,
): Scan {
  let ranges = planned
  let count = 0
  let hasMore = false
  buffer.begin()

  /** The page's next item, if it fits; false when the page is full. */
  function take(path: Path): boolean {
    if (count === size) return false
    const item = tree.getBinaryFast(path)
    if (item === undefined) return true
    const bytes = buffer.copy(item, item.length)
    if (count > 0 && bytes > bytesMax) {
      buffer.dropLast()
      return false
    }
    count++
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

  return { slice, page: () => buffer.finish(hasMore) }
}

/**
 * Visits the matching keys of the ranges, in order, for about `sliceMs`.
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
  let visited = 0
  let left = ranges
  while (left.length > 0) {
    let jump: Buffer | undefined
    const { start, end } = left[0]
    for (const path of tree.getKeys({ start, end }) as Iterable<Path>) {
      const verdict = matcher === undefined ? true : matcher(path)
      if (verdict === true && !visit(path)) return undefined
      if (typeof verdict === 'object') jump = verdict
      if (++visited % keysPerLook === 0 && performance.now() > deadline) {
        return rangesFrom(left, jump ?? keyAfter(encodeKey(path)))
      }
      if (jump !== undefined) break
    }
    left = jump === undefined ? left.slice(1) : intersectRanges(left, [{ start: jump, end: left[left.length - 1].end }])
  }
  return undefined
}
