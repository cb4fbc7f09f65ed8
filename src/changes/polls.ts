/** Long polls: a page that is answered at once if there is something on it, and otherwise when there is, or after a time. */
import { Cancelled } from '../base/cancellation.js'
import type { LogPlace } from '../store/changes.js'
import type { Feed, Listener, Reading } from './feed.js'
import { bodyOf, bytesOf, type ChangesPage, type PageBytes } from './page.js'
import { type ChangesStore, readPageAfter } from './pages.js'
import type { Scope } from './scope.js'
import type { Position, Since } from './token.js'

/** A request that may wait: it can end before it is answered. */
export interface Ongoing {
  readonly aborted: boolean
  /** To be set by the one who waits; called once `aborted` is set. */
  onAborted: (() => void) | undefined
}

/** Why a poll waits no longer, whatever has changed. */
type End = 'late' | 'gone' | { readonly error: unknown }

/** A poll while it waits. */
class Waiting implements Listener {
  ended: End | undefined
  /** Something may have changed up to here that was not shown. */
  missed: LogPlace | undefined
  #place: LogPlace | undefined
  #resolve: ((page: PageBytes | undefined) => void) | undefined

  constructor(private readonly feed: Feed) {}

  /**
   * Waits at a place before which everything is known. Resolves to the only page of what changes next; to undefined if
   * there are more, or it has ended or missed something.
   */
  next(place: LogPlace): Promise<PageBytes | undefined> {
    if (this.ended !== undefined) return Promise.resolve(undefined)
    this.#place = place
    return new Promise((resolve) => (this.#resolve = resolve))
  }

  end(end: End): void {
    this.ended ??= end
    this.#wake(undefined)
  }

  onPages([page, ...others]: readonly PageBytes[], reading: Reading): void {
    const verdict = this.#place === undefined ? 'miss' : this.feed.verdict(this.#place, reading)
    if (verdict === 'ignore') return
    if (verdict === 'miss' || others.length > 0) this.onMissed(reading.to)
    else this.#wake(page)
  }

  onMissed(to: LogPlace): void {
    this.missed = to
    this.#wake(undefined)
  }

  onFailure(error: unknown): void {
    this.end({ error })
  }

  #wake(page: PageBytes | undefined): void {
    const resolve = this.#resolve
    this.#resolve = this.#place = undefined
    resolve?.(page)
  }
}

export class Polls {
  readonly #waiting = new Set<Waiting>()
  #isDraining = false

  constructor(
    private readonly store: ChangesStore,
    private readonly feed: Feed,
  ) {}

  /** Answers all that wait with what they have, and no later one waits. */
  drain(): void {
    this.#isDraining = true
    for (const waiting of this.#waiting) waiting.end('late')
  }

  /**
   * The body of the page after a position, once there is something on it, or after `waitMs`.
   *
   * @throws Cancelled; StoreError
   */
  async page(scope: Scope, since: Since, waitMs: number, bytesMax: number, ongoing: Ongoing): Promise<Buffer | 'gone'> {
    const bounds = { bytesMax, cancellation: ongoing }
    const page = await readPageAfter(this.store, scope, since, bounds)
    if (page === 'gone') return page
    if (hasSomething(page) || waitMs === 0 || this.#isDraining) return bodyOf(bytesOf(page))
    // Nobody has listened for that during the read.
    if (ongoing.aborted) throw new Cancelled()
    const waiting = new Waiting(this.feed)
    const timer = setTimeout(() => waiting.end('late'), waitMs)
    ongoing.onAborted = () => waiting.end('gone')
    this.#waiting.add(waiting)
    try {
      await this.feed.add(scope, waiting)
      return await this.#wait(scope, page, waiting, bounds)
    } finally {
      clearTimeout(timer)
      ongoing.onAborted = undefined
      this.#waiting.delete(waiting)
      this.feed.remove(scope, waiting)
    }
  }

  /** The position, or the feed's if that is later: the feed has shown nothing, so nothing has changed up to there. */
  #later(position: Position): Position {
    const { position: reached } = this.feed
    return reached !== undefined && this.store.isAfter(reached.place, position.place) ? reached : position
  }

  async #wait(
    scope: Scope,
    before: ChangesPage,
    waiting: Waiting,
    bounds: { readonly bytesMax: number; readonly cancellation: Ongoing },
  ): Promise<Buffer | 'gone'> {
    let page = before
    for (;;) {
      // It has joined the feed, so now it reads what came before that.
      const next = await readPageAfter(this.store, scope, page.next, bounds)
      if (next === 'gone') return next
      page = next
      if (hasSomething(page)) return bodyOf(bytesOf(page))
      const { place } = page.next
      if (waiting.missed !== undefined && !this.store.isAfter(place, waiting.missed)) continue
      waiting.missed = undefined
      const news = await waiting.next(place)
      if (news !== undefined) return bodyOf(news)
      const { ended } = waiting
      if (ended === 'gone') throw new Cancelled()
      if (typeof ended === 'object') throw ended.error
      if (ended === 'late' && waiting.missed === undefined)
        return bodyOf(bytesOf({ ...page, next: this.#later(page.next) }))
    }
  }
}

/** Whether it is to be answered at once. */
function hasSomething({ results, hasMore }: ChangesPage): boolean {
  return results.length > 0 || hasMore
}
