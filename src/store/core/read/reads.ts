/**
 * Fetching: one topic, or a page. The items of one type as they are stored have the fastest ways: a topic is one lookup, and
 * a page of a plan without a matcher, and of few ranges, is read without its keys. Any other page is a scan (scanned-pages.ts).
 */
import { type Awaitable, whenKnown } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import { inSlice, sliceNow } from '../../../base/time-slices.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, rangesAfter } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Engine, View } from '../../engine.js'
import { type Absent, type ItemForm, isStoredForm, type Page, type PageQuery, type TopicReader } from '../../topics.js'
import { limitBranches } from './branches.js'
import { itemIn, wantedFor } from './forms.js'
import { copyOf, createPageBuilder } from './page-builder.js'
import { aheadOf, ScannedPages } from './scanned-pages.js'

/** Ranges that are read without slices: each costs a seek, some microseconds, and a large set may have thousands. */
const plainRangesMax = 64

/** The first size of a page's own buffer, which grows. */
const waitingBytes = 4 * 1024

/** Its operations are arrow functions in fields: bound, so that the store has them as its own without a wrapper. */
export class Reads implements Pick<TopicReader, 'readTopic' | 'readPage'> {
  readonly #builder = createPageBuilder()
  readonly #scanned: ScannedPages

  constructor(private readonly engine: Engine) {
    this.#scanned = new ScannedPages(engine)
  }

  readonly readTopic = (path: Path, form: ItemForm): Awaitable<Uint8Array | Absent> => {
    const view = this.engine.now()
    return isStoredForm(form) ? view.item(form.type, path) : readInForm(view, path, form)
  }

  readonly readPage = (query: PageQuery, cancellation: Cancellation): Awaitable<Page> => {
    const { plan, form, branches, after } = query
    if (branches !== undefined) return this.#scanned.page(query, limitBranches(plan, branches, after), cancellation)
    const ranges = rangesAfter(plan.ranges, after)
    if (plan.matcher === undefined && ranges.length <= plainRangesMax && isStoredForm(form)) {
      const { type } = form
      if (sliceNow() !== undefined) return this.#plainPage(this.engine.now(), query, type, ranges)
      return inSlice(() => this.engine.atOnce((view) => whenKnown(this.#plainPage(view, query, type, ranges), copyOf)))
    }
    return this.#scanned.page(query, { ranges, matcher: plan.matcher }, cancellation)
  }

  #plainPage(view: View, query: PageQuery, type: TopicType, ranges: readonly KeyRange[]): Awaitable<Page> {
    // Pages for which an engine waits are built side by side.
    const builder = this.engine.waits ? createPageBuilder(waitingBytes) : this.#builder
    builder.begin(query)
    return whenKnown(view.items(type, ranges, aheadOf(query), builder.add), builder.finish)
  }
}

function readInForm(view: View, path: Path, form: ItemForm): Awaitable<Uint8Array | Absent> {
  let found: Uint8Array | Absent = 'no_such_topic'
  const read = view.topics([path], undefined, wantedFor(form), Number.POSITIVE_INFINITY, (_path, topic) => {
    if (topic === undefined) return true
    const isOther = form.type !== 'any' && form.type !== topic.type
    found = isOther ? 'incompatible_type' : (itemIn(form, path, topic) ?? 'no_such_topic')
    return true
  })
  return whenKnown(read, () => found)
}
