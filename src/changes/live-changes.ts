/**
 * What changed, for the clients of one worker: pages, long polls and streams, within bounds on how many may listen. The
 * rest of this folder serves it. Nothing here knows HTTP.
 */
import { type Awaitable, whenKnown } from '../base/awaitable.js'
import { Feed } from './feed.js'
import { type ChangesStore, readNow } from './pages.js'
import { type Ongoing, Polls } from './polls.js'
import type { Scope } from './scope.js'
import { Seats } from './seats.js'
import { type Stream, type StreamOptions, Streams } from './streams.js'
import type { Position, Since } from './token.js'

/** What is measured. */
export interface ChangesStats {
  readonly streams: number
  readonly polls: number
  /** The most of each. */
  readonly listenersMax: number
  /** Streams whose clients have not taken everything. */
  readonly behind: number
  /** Events that were sent to streams since the start. */
  readonly deliveries: number
  /** Tokens and streams since the start for which the log did not go back far enough. */
  readonly goneTokens: number
}

export class LiveChanges {
  readonly #seats: Seats
  readonly #polls: Polls
  readonly #streams: Streams
  #goneTokens = 0
  #isDraining = false

  /**
   * @param listenersMax streams, and as many waiting polls
   * @param onDefect called for an error of a stream that is none of the store's
   */
  constructor(
    private readonly store: ChangesStore,
    private readonly listenersMax: number,
    onDefect: (error: unknown) => void,
  ) {
    const feed = new Feed(store)
    this.#seats = new Seats(listenersMax)
    this.#polls = new Polls(store, feed)
    this.#streams = new Streams(store, feed, onDefect)
  }

  /**
   * The body of the page after a position, or of the first one of the present state: at once if `waitMs` is 0, otherwise
   * once there is something on it, or after that time.
   *
   * @returns `gone` if the log does not have what changed since; `full` if no other poll can wait
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
      const body = await this.#polls.page(scope, since, waitMs, bytesMax, ongoing)
      if (body === 'gone') this.#goneTokens++
      return body
    } finally {
      leave()
    }
  }

  /**
   * A stream, to be given its outlet, or told that its client has gone. What changes after this resolves is shown, also
   * since now: a client that has seen its answer begin writes after that.
   *
   * @returns `gone` if the log does not have what changed since; `full` if there is no room for another; `draining` if there
   *   are no more streams
   * @throws StoreError
   */
  openStream(
    { since, ...options }: Omit<StreamOptions, 'onEnd' | 'since'> & { readonly since: Since },
    keyName: string,
  ): Awaitable<Stream | 'gone' | 'full' | 'draining'> {
    if (this.#isDraining) return 'draining'
    if (!this.#seats.hasRoom('stream', keyName)) return 'full'
    return whenKnown(this.#startOf(since), (position) => {
      if (position === 'gone') {
        this.#goneTokens++
        return position
      }
      // It may have begun meanwhile.
      if (this.#isDraining) return 'draining'
      const onEnd = this.#seats.take('stream', keyName)
      return onEnd === undefined ? 'full' : this.#streams.create({ ...options, since: position, onEnd })
    })
  }

  /** Where a stream begins, if the log has what changed since. @throws StoreError */
  #startOf(since: Since): Awaitable<Position | undefined | 'gone'> {
    if (since === undefined) return undefined
    if (since === 'now') return readNow(this.store)
    const { place } = since
    return this.store.inSnapshot((log) =>
      log.changesAfter<Position | 'gone'>(place, 1, (changes) => (changes === 'gone' ? changes : since)),
    )
  }

  /** The API keys have changed: ends the streams of those that may not go on. */
  keysChanged(): void {
    this.#streams.checkCallers()
  }

  /** Ends all streams, and answers all polls; later polls do not wait. */
  drain(): void {
    this.#isDraining = true
    this.#streams.endAll('draining')
    this.#polls.drain()
  }

  stats(): ChangesStats {
    return {
      streams: this.#seats.taken('stream'),
      polls: this.#seats.taken('poll'),
      listenersMax: this.listenersMax,
      behind: this.#streams.behind,
      deliveries: this.#streams.counts.deliveries,
      goneTokens: this.#goneTokens + this.#streams.counts.gone,
    }
  }
}
