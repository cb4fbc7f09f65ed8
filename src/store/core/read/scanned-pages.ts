/**
 * Pages of plans with a matcher, of many ranges, or of items that are not stored so. A scan fills each in slices, so that
 * other requests get their turns. All that unfinished pages of this process have found stays within one bound.
 */
import type { Awaitable } from '../../../base/awaitable.js'
import type { Cancellation } from '../../../base/cancellation.js'
import type { Plan } from '../../../selectors/plan.js'
import type { Path } from '../../../topics/path.js'
import type { Engine, Scan, StoredTopic } from '../../engine.js'
import type { Page, PageQuery } from '../../topics.js'
import { itemIn, typeOfForm, wantedFor } from './forms.js'
import { createPageBuilder, type PageBuilder } from './page-builder.js'

/** Results held by all unfinished pages of one worker. Beyond that, they end early. */
const unfinishedBytesMax = 32 * 1024 * 1024

/** Of a page's own buffer: thousands of scans may wait for their slices, most of them with nothing found yet. */
const initialBytes = 4 * 1024

/** What is worth reading for a page: its items, and one more, which says that there are others. */
export function aheadOf({ size, bytesMax }: PageQuery): Scan['ahead'] {
  return { topics: size + 1, bytes: bytesMax }
}

export class ScannedPages {
  #spare: PageBuilder | undefined
  /** What the unfinished pages have found so far, in bytes. */
  #unfinishedBytes = 0

  constructor(private readonly engine: Pick<Engine, 'scan'>) {}

  /**
   * A page of the plan, within the query's bounds, or ended early because unfinished ones have found too much.
   *
   * @throws Cancelled at the next slice once `cancellation` is set
   */
  page(query: PageQuery, plan: Plan, cancellation: Cancellation): Awaitable<Page> {
    const { form, branches, after } = query
    const what = { plan, branches: branches && { ...branches, plan: query.plan, after } }
    const builder = this.#spare ?? createPageBuilder(initialBytes)
    this.#spare = undefined
    builder.begin(query)
    let counted = 0
    const take = (path: Path, topic: StoredTopic | undefined): boolean => {
      if (this.#unfinishedBytes - counted > unfinishedBytesMax && counted > 0) return builder.end()
      const item = topic && itemIn(form, path, topic)
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
      const type = typeOfForm(form)
      scanned = this.engine.scan({ ...what, type, wanted: wantedFor(form), ahead: aheadOf(query), take }, cancellation)
    } finally {
      if (!(scanned instanceof Promise)) end()
    }
    if (scanned instanceof Promise) return scanned.then(builder.finish).finally(end)
    this.#spare = builder
    return builder.finish()
  }
}
