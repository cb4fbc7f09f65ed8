/**
 * Fetching: one topic, or a page. The items of one type as they are stored have the fastest ways: a topic is one
 * lookup, and a page of a plan without a matcher, and of few ranges, is one range scan (page-scan.ts). Any other page is
 * a scan of keys (sliced-scans.ts), and items in another form are put together topic by topic (item-forms.ts).
 */
import type { Awaitable } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import { inSlice, sliceNow } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import type { Path } from '../../../topics/path.js'
import { rangesAfter } from '../../../topics/range.js'
import { limitBranches } from '../../shared/branches.js'
import {
  type Absent,
  type ItemForm,
  isStoredForm,
  type Page,
  type PageQuery,
  pageHeadroom,
  type TopicReader,
} from '../../topics.js'
import type { Environment } from '../environment/environment.js'
import { readInForm } from './item-forms.js'
import { createItemView } from './item-view.js'
import type { PageScan } from './page-scan.js'
import type { Snapshots } from './read-freshness.js'
import type { Scans } from './sliced-scans.js'
import { readType } from './specification.js'

/** Ranges that are read without slices: each costs a seek, some microseconds, and a large set may have thousands. */
const plainRangesMax = 64

/** A page that outlives the next one. */
function copyOf(page: Page): Page {
  const buffer = Buffer.from(page.buffer.subarray(0, page.end + pageHeadroom))
  return { ...page, buffer }
}

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Reads implements Pick<TopicReader, 'readTopic' | 'readPage'> {
  readonly #view = createItemView()
  readonly #items: Environment['items']
  readonly #specifications: Environment['specifications']

  constructor(
    private readonly environment: Environment,
    private readonly snapshots: Snapshots,
    private readonly pageScan: PageScan,
    private readonly scans: Scans,
  ) {
    this.#items = environment.items
    this.#specifications = environment.specifications
  }

  readonly readTopic = (path: Path, form: ItemForm): Uint8Array | Absent => {
    this.snapshots.forRequest()
    if (isStoredForm(form)) {
      const item = this.#items[form.type].getBinaryFast(path)
      if (item !== undefined) return this.#view(item, item.length)
    }
    const type = readType(this.#specifications, path)
    if (type === undefined) return 'no_such_topic'
    if (form.type !== 'any' && form.type !== type) return 'incompatible_type'
    const item = readInForm(this.environment, path, form)
    return item === undefined ? 'no_such_topic' : this.#view(item, item.length)
  }

  readonly readPage = (query: PageQuery, cancellation: Cancellation): Awaitable<Page> => {
    this.snapshots.forRequest()
    const { plan, form, branches, after } = query
    if (branches !== undefined) return this.#scan(query, limitBranches(plan, branches, after), cancellation)
    const ranges = rangesAfter(plan.ranges, after)
    if (plan.matcher === undefined && ranges.length <= plainRangesMax && isStoredForm(form)) {
      const { type } = form
      if (sliceNow() !== undefined) return this.pageScan.page(query, type, ranges)
      return inSlice(() => this.snapshots.alone(() => copyOf(this.pageScan.page(query, type, ranges))))
    }
    return this.#scan(query, { ranges, matcher: plan.matcher }, cancellation)
  }

  /** The keys of a type are those of its items, the keys of both those of the specifications. */
  #scan(query: PageQuery, plan: Plan, cancellation: Cancellation): Awaitable<Page> {
    const { form } = query
    const tree = form.type === 'any' ? this.#specifications : this.#items[form.type]
    const readItem = isStoredForm(form)
      ? (path: Path) => tree.getBinaryFast(path)
      : (path: Path) => readInForm(this.environment, path, form)
    return this.scans.page({ tree, readItem }, plan, query, cancellation)
  }
}
