/** Changes for the clients of one worker: pages, long polls and streams, within limits. Nothing here depends on HTTP. */
import { type Awaitable, whenKnown } from '../base/awaitable.js'
import { Cancelled } from '../base/cancellation.js'
import type { LogPlace } from '../store/changes.js'
import { Feed } from './feed.js'
import { Follower, type Shared } from './follower.js'
import { bodyOf, bytesOf, type ChangesPage, type PageBytes } from './page.js'
import { type ChangesStore, readNow, readPageAfter } from './pages.js'
import type { Scope } from './scope.js'
import { Seats } from './seats.js'
import { Stream, type StreamOptions } from './streams.js'
import type { Position, Since } from './token.js'

/** A request that may wait: it can be aborted before its response. */
interface Ongoing {
  readonly aborted: boolean
  /** Set by the waiting code; called once `aborted` is set. */
  onAborted: (() => void) | undefined
}

/** Whether a poll returns this page immediately. */
function hasSomething({ results, hasMore }: ChangesPage): boolean {
  return results.length > 0 || hasMore
}

/** A follower that leaves after its first page: a page with changes, or any page once the wait is over. */
class Poll extends Follower {
  #isDue = false
  #answer = (_body: Buffer | 'gone'): void => {}
  override onFailure = (_error: unknown): void => {}

  /** The body of the poll's page; after `waitMs`, the page may be empty. @throws Cancelled; StoreError */
  async body(waitMs: number, ongoing: Ongoing): Promise<Buffer | 'gone'> {
    // No abort listener was set during the earlier read.
    if (ongoing.aborted) throw new Cancelled()
    const timer = setTimeout(() => this.end(), waitMs)
    try {
      return await new Promise((resolve, reject) => {
        this.#answer = resolve
        this.onFailure = reject
        ongoing.onAborted = () => reject(new Cancelled())
        void this.join()
      })
    } finally {
      clearTimeout(timer)
      ongoing.onAborted = undefined
      this.leave()
    }
  }

  /** Responds now or, if a page is being read, with that page. */
  end(): void {
    this.#isDue = true
    this.giveEmpty()
  }

  /** Only the last of several pages leads to a consistent state, so the poll reads its own page. */
  override onPages(pages: readonly PageBytes[], to: LogPlace): void {
    if (pages.length > 1) this.onMissed(to)
    else super.onPages(pages, to)
  }

  protected wants(page: ChangesPage): boolean {
    return this.#isDue || hasSomething(page)
  }

  protected give(page: PageBytes): boolean {
    this.#answer(bodyOf(page))
    return false
  }

  protected onLost(): void {
    this.#answer('gone')
  }
}

export interface ChangesStats {
  readonly streams: number
  readonly polls: number
  /** Maximum streams and, separately, maximum polls. */
  readonly listenersMax: number
  /** Streams whose clients do not have everything. */
  readonly behind: number
  /** Events sent to streams since the start. */
  readonly deliveries: number
  /** Tokens and streams, since the start, whose position the log no longer covered. */
  readonly goneTokens: number
}

const checkMs = 1000

export class LiveChanges {
  readonly #seats: Seats
  readonly #shared: Shared
  readonly #polls = new Set<Poll>()
  readonly #streams = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined
  #isDraining = false

  /** @param listenersMax maximum streams and, separately, maximum waiting polls */
  constructor(
    private readonly store: ChangesStore,
    private readonly listenersMax: number,
    onDefect: (error: unknown) => void,
  ) {
    this.#seats = new Seats(listenersMax)
    this.#shared = { store, feed: new Feed(store), onDefect, counts: { deliveries: 0, gone: 0 } }
  }

  /**
   * The page after a position, or the first page. Resolves once the page has changes or more pages follow, or after `waitMs`.
   *
   * @returns `gone` if the log no longer has the changes; `full` if no more polls can wait
   * @throws Cancelled; StoreError
   */
  async page(
    scope: Scope,
    since: Since,
    { waitMs, bytesMax, keyName }: { readonly waitMs: number; readonly bytesMax: number; readonly keyName: string },
    ongoing: Ongoing,
  ): Promise<Buffer | 'gone' | 'full'> {
    const leave = waitMs === 0 ? () => {} : this.#seats.take('poll', keyName)
    if (leave === undefined) return 'full'
    try {
      const page = await readPageAfter(this.store, scope, since, { bytesMax, cancellation: ongoing })
      if (page === 'gone') return this.#countGone()
      if (hasSomething(page) || waitMs === 0 || this.#isDraining) return bodyOf(bytesOf(page))
      const poll = new Poll(this.#shared, scope, page.next, bytesMax)
      this.#polls.add(poll)
      return await poll.body(waitMs, ongoing).finally(() => this.#polls.delete(poll))
    } finally {
      leave()
    }
  }

  /**
   * The caller must call the stream's `begin` with an outlet, or `onGone` if the client has disconnected. Changes made
   * after this resolves are shown, even with `now`: a client may write as soon as it has seen the start of the response.
   *
   * @returns `gone` if the log no longer has the changes; `full` if there is no room; `draining` after a call to `drain`
   * @throws StoreError
   */
  openStream(
    { since, ...options }: Omit<StreamOptions, 'onEnd' | 'since'> & { readonly since: Since },
    keyName: string,
  ): Awaitable<Stream | 'gone' | 'full' | 'draining'> {
    if (this.#isDraining) return 'draining'
    if (!this.#seats.hasRoom('stream', keyName)) return 'full'
    return whenKnown(this.#startOf(since), (position) => {
      if (position === 'gone') return this.#countGone()
      // The drain may have started in the meantime.
      if (this.#isDraining) return 'draining'
      const leave = this.#seats.take('stream', keyName)
      return leave === undefined ? 'full' : this.#add({ ...options, since: position }, leave)
    })
  }

  #countGone(): 'gone' {
    this.#shared.counts.gone++
    return 'gone'
  }

  #add(options: Omit<StreamOptions, 'onEnd'>, leave: () => void): Stream {
    const onEnd = (): void => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#timer = void clearInterval(this.#timer)
      leave()
    }
    const stream = new Stream({ ...options, onEnd }, this.#shared)
    this.#streams.add(stream)
    this.#timer ??= setInterval(() => {
      const nowMs = performance.now()
      for (const each of this.#streams) each.check(nowMs)
    }, checkMs)
    return stream
  }

  /** The starting position of a stream; `gone` if the log no longer has the changes after it. @throws StoreError */
  #startOf(since: Since): Awaitable<Position | undefined | 'gone'> {
    if (since === undefined) return undefined
    if (since === 'now') return readNow(this.store)
    const { place } = since
    return this.store.inSnapshot((log) =>
      log.changesAfter<Position | 'gone'>(place, 1, (changes) => (changes === 'gone' ? changes : since)),
    )
  }

  /** Call when permissions may have changed: ends each stream whose caller is no longer allowed to continue. */
  keysChanged(): void {
    for (const stream of this.#streams) stream.checkCaller()
  }

  /** Ends all streams and answers all polls; later polls do not wait. */
  drain(): void {
    this.#isDraining = true
    for (const stream of this.#streams) stream.end('draining')
    for (const poll of this.#polls) poll.end()
  }

  stats(): ChangesStats {
    const { deliveries, gone } = this.#shared.counts
    return {
      streams: this.#seats.taken('stream'),
      polls: this.#seats.taken('poll'),
      listenersMax: this.listenersMax,
      behind: [...this.#streams].filter(({ isBehind }) => isBehind).length,
      deliveries,
      goneTokens: gone,
    }
  }
}
