/**
 * Fetching: one topic, or a page of a plan. A page of a plan without a matcher, and of few ranges, is one range scan
 * (page-scan.ts). Any other page is a scan of keys (scan.ts), which begins in this turn and, unless it finishes there,
 * continues in slices, so that other requests get their turns.
 */
import { scanBytesWaitingMax } from '../../limits.js'
import { encodeKey } from '../../topics/key.js'
import type { Path } from '../../topics/path.js'
import { keyAfter, rangesFrom } from '../../topics/range.js'
import type { TopicType } from '../../topics/topic.js'
import { type Absent, type Awaitable, type Cancellation, Cancelled, type Page, type PageQuery } from '../store.js'
import { tryFirstSlice, waitForSlice } from '../time-slices.js'
import type { Environment } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { createPageBuffer, type PageBuffer } from './page-buffer.js'
import type { PageScan } from './page-scan.js'
import { MatchScan } from './scan.js'
import { readType } from './specification.js'
import { createView } from './views.js'

/** Ranges that are read without slices: each costs a seek, some microseconds, and a large set may have thousands. */
const plainRangesMax = 64

/** A scan's own page buffer: thousands of scans may wait for their slices, most of them with nothing found yet. */
const scanInitialBytes = 4 * 1024

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Reads {
  readonly #items: Environment['items']
  readonly #specifications: Environment['specifications']
  readonly #snapshots: Snapshots
  readonly #pageScan: PageScan
  readonly #view = createView()
  #spare: PageBuffer | undefined
  /** What the scans that wait for their next slice have found so far, in bytes. */
  #scanBytes = 0

  constructor(environment: Environment, snapshots: Snapshots, pageScan: PageScan) {
    this.#items = environment.items
    this.#specifications = environment.specifications
    this.#snapshots = snapshots
    this.#pageScan = pageScan
  }

  readonly readTopic = (path: Path, type: TopicType): Uint8Array | Absent => {
    this.#snapshots.forRequest()
    const item = this.#items[type].getBinaryFast(path)
    if (item !== undefined) return this.#view(item, item.length)
    return readType(this.#specifications, path) === undefined ? 'no_such_topic' : 'incompatible_type'
  }

  readonly readPage = (query: PageQuery, cancellation: Cancellation): Awaitable<Page> => {
    this.#snapshots.forRequest()
    const { plan, after, type } = query
    const ranges = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
    if (plan.matcher === undefined && ranges.length <= plainRangesMax) return this.#pageScan.page(query, ranges)
    const buffer = this.#spare ?? createPageBuffer(scanInitialBytes)
    this.#spare = undefined
    const scan = new MatchScan(this.#items[type], ranges, query, buffer, this.#isCrowded)
    if (!tryFirstSlice(scan.slice)) return this.#finishInSlices(scan, cancellation)
    this.#spare = buffer
    return scan.page()
  }

  readonly #isCrowded = (): boolean => this.#scanBytes > scanBytesWaitingMax

  async #finishInSlices(scan: MatchScan, cancellation: Cancellation): Promise<Page> {
    let counted = 0
    try {
      for (;;) {
        this.#scanBytes += scan.bytes - counted
        counted = scan.bytes
        await waitForSlice()
        if (cancellation.cancelled) throw new Cancelled()
        if (this.#snapshots.alone(scan.slice)) return scan.page()
      }
    } finally {
      this.#scanBytes -= counted
    }
  }
}
