/**
 * Fetches one topic or a page. Items of one type, exactly as stored, are read fastest. A topic takes one lookup, and a page is read
 * without its keys if its plan has few ranges and no matcher. Any other page is filled by a scan, in slices, so that other requests
 * run in between.
 */
import { type Awaitable, whenKnown } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import { inSlice, sliceNow } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import { bareItem } from '../../../topics/item.js'
import type { Path } from '../../../topics/path.js'
import { type KeyRange, rangesAfter } from '../../../topics/range.js'
import type { TopicType } from '../../../topics/topic.js'
import type { Engine, Scan, StoredTopic, View } from '../../engine.js'
import { type Absent, type ItemForm, isStoredForm, type Page, type PageQuery, type TopicReader } from '../../topics.js'
import { limitBranches } from './branches.js'
import { bareTypeOf, itemIn, typeOfForm, wantedFor } from './forms.js'
import { copyOf, createPageBuilder, type PageBuilder } from './page-builder.js'

/** Maximum number of ranges to read without slices: each costs a seek, a few microseconds, and a large set may have thousands. */
const plainRangesMax = 64

/** The initial size of a page's own buffer, which grows: thousands of pages may wait for the engine or for their slices. */
const waitingBytes = 4 * 1024

/** Maximum bytes of results in all unfinished scanned pages of a worker. Beyond that, pages end early. */
const unfinishedBytesMax = 32 * 1024 * 1024

export class Reads implements Pick<TopicReader, 'readTopic' | 'readPage'> {
  readonly #builder = createPageBuilder()
  #spareBuilder: PageBuilder | undefined
  #unfinishedBytes = 0

  constructor(private readonly engine: Engine) {}

  readonly readTopic = (path: Path, form: ItemForm): Awaitable<Uint8Array | Absent> => {
    const view = this.engine.now()
    return isStoredForm(form) ? view.item(form.type, path) : readInForm(view, path, form)
  }

  readonly readPage = (query: PageQuery, cancellation: Cancellation): Awaitable<Page> => {
    const { plan, form, branches, after } = query
    if (branches !== undefined) return this.#scannedPage(query, limitBranches(plan, branches, after), cancellation)
    const ranges = rangesAfter(plan.ranges, after)
    if (plan.matcher === undefined && ranges.length <= plainRangesMax && isStoredForm(form)) {
      const { type } = form
      if (sliceNow() !== undefined) return this.#plainPage(this.engine.now(), query, type, ranges)
      return inSlice(() => this.engine.atOnce((view) => whenKnown(this.#plainPage(view, query, type, ranges), copyOf)))
    }
    return this.#scannedPage(query, { ranges, matcher: plan.matcher }, cancellation)
  }

  #plainPage(view: View, query: PageQuery, type: TopicType, ranges: readonly KeyRange[]): Awaitable<Page> {
    // If the engine waits, several pages are built at the same time.
    const builder = this.engine.waits ? createPageBuilder(waitingBytes) : this.#builder
    builder.begin(query)
    return whenKnown(view.items(type, ranges, aheadOf(query), builder.add), builder.finish)
  }

  /** Ends early if unfinished pages occupy too much memory. @throws Cancelled at the next slice once `cancellation` is set */
  #scannedPage(query: PageQuery, plan: Plan, cancellation: Cancellation): Awaitable<Page> {
    const { form } = query
    const builder = this.#spareBuilder ?? createPageBuilder(waitingBytes)
    this.#spareBuilder = undefined
    builder.begin(query)
    let counted = 0
    const bareType = bareTypeOf(form)
    const take = (path: Path, topic: StoredTopic | undefined): boolean => {
      if (this.#unfinishedBytes - counted > unfinishedBytesMax && counted > 0) return builder.end()
      const item = bareType === undefined ? topic && itemIn(form, path, topic) : Buffer.from(bareItem(path, bareType))
      if (item === undefined) return true
      const isAdded = builder.add(item)
      this.#unfinishedBytes += builder.bytes() - counted
      counted = builder.bytes()
      return isAdded
    }
    const end = (): void => {
      this.#unfinishedBytes -= counted
    }
    let scanned: Awaitable<void> | undefined
    try {
      const branches = query.plan.matcher === undefined ? query.branches : undefined
      const wanted = bareType === undefined ? wantedFor(form) : undefined
      const [type, ahead] = [typeOfForm(form), aheadOf(query)]
      scanned = this.engine.scan({ plan, branches, type, wanted, ahead, take }, cancellation)
    } finally {
      if (!(scanned instanceof Promise)) end()
    }
    if (scanned instanceof Promise) return scanned.then(builder.finish).finally(end)
    this.#spareBuilder = builder
    return builder.finish()
  }
}

/** Read-ahead for a page: its items, and one more, which shows whether others follow. */
function aheadOf({ size, bytesMax }: PageQuery): Scan['ahead'] {
  return { topics: size + 1, bytes: bytesMax }
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
