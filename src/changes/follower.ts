/**
 * Followers: each follows the changes in one scope for one client, as a stream (streams.ts) or a poll (live-changes.ts). A follower
 * is in one of these states, and keeps only its position:
 *
 *     reading    it reads pages from its position and gives them to its client
 *     live       its client has everything and gets the pages that the feed builds
 *     blocked    its client cannot take more at the moment; reading resumes when it can
 */
import type { LogPlace } from '../store/changes.js'
import type { Feed, Listener } from './feed.js'
import { bytesOf, type ChangesPage, type PageBytes } from './page.js'
import { type ChangesStore, readPageAfter } from './pages.js'
import type { Scope } from './scope.js'
import type { Position } from './token.js'

export interface Shared {
  readonly store: ChangesStore
  readonly feed: Feed
  /** Called for an error that is not a store error. */
  readonly onDefect: (error: unknown) => void
  readonly counts: { deliveries: number; gone: number }
}

export abstract class Follower implements Listener {
  /** Set when the follower leaves; cancels its reads. */
  aborted = false
  protected state: 'reading' | 'live' | 'blocked' = 'reading'
  /** The place up to which there may be changes that the client was not given. */
  #missed: LogPlace | undefined

  /** @param position undefined for the present state @param bytesMax limit on a page that is read for this client alone */
  constructor(
    protected readonly shared: Shared,
    private readonly scope: Scope,
    private position: Position | undefined,
    private readonly bytesMax: number,
  ) {}

  /** Whether to give the client a page that was read for it alone. */
  protected abstract wants(page: ChangesPage): boolean

  /** @returns whether the client can take more */
  protected abstract give(page: PageBytes): boolean

  /** Called if the log no longer has the changes after the position. */
  protected abstract onLost(): void

  abstract onFailure(error: unknown): void

  /** Joins the feed, then reads the earlier changes. */
  protected async join(): Promise<void> {
    const { feed } = this.shared
    try {
      await feed.add(this.scope, this)
      // The follower may have left while it was joining.
      if (this.aborted) feed.remove(this.scope, this)
      else await this.#read()
    } catch (error) {
      this.onFailure(error)
    }
  }

  protected leave(): void {
    this.aborted = true
    this.shared.feed.remove(this.scope, this)
  }

  onWritable(): void {
    if (this.state === 'blocked') void this.#read()
  }

  /** Gives the client an empty page if it has everything; otherwise does nothing. */
  protected giveEmpty(): void {
    if (this.state !== 'live' || this.position === undefined) return
    const { store, feed } = this.shared
    // The feed has shown no change after this position, so the scope is unchanged up to the feed's position.
    const isBehind = feed.position !== undefined && store.isAfter(feed.position.place, this.position.place)
    const next = isBehind ? feed.position : this.position
    this.#take(bytesOf({ results: [], hasMore: false, next }))
  }

  onPages(pages: readonly PageBytes[], to: LogPlace): void {
    if (this.state !== 'live' || this.position === undefined) return this.onMissed(to)
    // A live client has everything before the first page: the feed shows all changes in its scope since it joined.
    if (this.shared.store.isAfter(this.position.place, to)) return
    for (const page of pages) if (!this.#take(page)) return this.onMissed(to)
  }

  onMissed(to: LogPlace): void {
    this.#missed = to
    if (this.state === 'live') void this.#read()
  }

  /** Reads pages from the position until the client has everything or cannot take more. */
  async #read(): Promise<void> {
    const { store } = this.shared
    const bounds = { bytesMax: this.bytesMax, cancellation: this }
    this.state = 'reading'
    try {
      for (;;) {
        const page = await readPageAfter(store, this.scope, this.position, bounds)
        if (this.aborted) return
        if (page === 'gone') {
          this.shared.counts.gone++
          return this.onLost()
        }
        const { hasMore, next } = page
        this.position = next
        if (this.wants(page) && !this.#take(bytesOf(page))) return
        if (hasMore || (this.#missed !== undefined && !store.isAfter(next.place, this.#missed))) continue
        this.#missed = undefined
        this.state = 'live'
        return
      }
    } catch (error) {
      if (!this.aborted) this.onFailure(error)
    }
  }

  /** @returns whether the client can take more; if not, the follower is blocked */
  #take(page: PageBytes): boolean {
    this.position = page.next
    const takesMore = this.give(page)
    if (!takesMore) this.state = 'blocked'
    return takesMore
  }
}
