/**
 * Fetching: one topic, or a page of a plan. A page of a plan without a matcher, and of few ranges, is one range scan
 * (page-scan.ts). Any other page is a scan of keys (sliced-scans.ts). Items in other forms are read by listings.ts.
 */

import type { Awaitable } from '../../../base/awaitable.js'
import { encodeKey } from '../../../topics/key.js'
import type { Path } from '../../../topics/path.js'
import { keyAfter, rangesFrom } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Cancellation } from '../../cancellation.js'
import type { Absent, Page, PageQuery } from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import type { PageScan } from './page-scan.js'
import type { Snapshots } from './read-freshness.js'
import type { Scans } from './sliced-scans.js'
import { readType } from './specification.js'

/** Ranges that are read without slices: each costs a seek, some microseconds, and a large set may have thousands. */
const plainRangesMax = 64

/** The bytes of an item that lmdb has returned: in a buffer that it uses again, and whose length it overwrites. */
export function itemView(item: Buffer): Uint8Array {
  return new Uint8Array(item.buffer, item.byteOffset, item.length)
}

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Reads {
  readonly #items: Environment['items']
  readonly #specifications: Environment['specifications']

  constructor(
    environment: Environment,
    private readonly snapshots: Snapshots,
    private readonly pageScan: PageScan,
    private readonly scans: Scans,
  ) {
    this.#items = environment.items
    this.#specifications = environment.specifications
  }

  readonly readTopic = (path: Path, type: TopicType): Uint8Array | Absent => {
    this.snapshots.forRequest()
    const item = this.#items[type].getBinaryFast(path)
    if (item !== undefined) return itemView(item)
    return readType(this.#specifications, path) === undefined ? 'no_such_topic' : 'incompatible_type'
  }

  readonly readPage = (query: PageQuery, cancellation: Cancellation): Awaitable<Page> => {
    this.snapshots.forRequest()
    const { plan, after, type } = query
    const ranges = after === undefined ? plan.ranges : rangesFrom(plan.ranges, keyAfter(encodeKey(after)))
    if (plan.matcher === undefined && ranges.length <= plainRangesMax) return this.pageScan.page(query, ranges)
    const tree = this.#items[type]
    const source = { tree, readItem: (path: Path) => tree.getBinaryFast(path) }
    return this.scans.page(source, { ranges, matcher: plan.matcher }, query, cancellation)
  }
}
