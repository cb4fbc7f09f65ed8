/**
 * Streams: server-sent events, each with a page of changes, over a connection that stays open. A stream is in one of these
 * states, and keeps nothing but its position:
 *
 *     reading    it reads pages from its position on, and sends them
 *     live       it has everything, and is sent the pages that the feed makes
 *     blocked    its client takes nothing more at the moment; then it reads on
 */
import { Cancelled } from '../base/cancellation.js'
import type { LogPlace } from '../store/changes.js'
import { StoreError } from '../store/errors.js'
import { type Feed, type Listener, type Reading, sharedPageBytesMax } from './feed.js'
import { bytesOf, type PageBytes } from './page.js'
import { type ChangesStore, pageMsMax, readPageAfter } from './pages.js'
import type { Scope } from './scope.js'
import type { Position } from './token.js'

/** Where a stream's events go. */
interface Outlet {
  /** Sends bytes, all of them; returns whether the client takes more at the moment. */
  send(bytes: Uint8Array): boolean
  /** Ends the stream after these bytes. */
  end(bytes: Uint8Array): void
  /** Ends the connection at once. */
  close(): void
}

/** Between two events, in ms: proxies and clients give a silent connection up after 30 s or more. */
const heartbeatMs = 15_000

/** How long a stream lasts, in ms, give or take `lifeSpread`: so streams spread over the workers again. */
const lifeMs = 600_000
const lifeSpread = 0.2

/** Between two looks at the clock, in ms. */
const checkMs = 1000

/** When a client is to come back, in ms: at random, so that those of a worker that ends do not come together. */
const retryMsMin = 1000
const retryMsMax = 5000

/** Why a stream ends, for programs and for persons. */
const ends = {
  rotated: 'The stream has lasted long enough; go on with the last id.',
  draining: 'This worker is stopping; go on with the last id.',
  unauthorized: 'The API key of this stream is no longer valid.',
  access_changed: 'The rights of this API key have changed; begin again without an id.',
  since_gone: 'What changed since then is no longer known; begin again without an id.',
  store_unavailable: 'The store cannot be reached at the moment; go on with the last id, later.',
} as const

type EndCode = keyof typeof ends

/**
 * The ends after which the last id is of no use. They reset it, as the standard of server-sent events has it: a client that
 * resumes by itself would send it again and again.
 */
const voiding: readonly EndCode[] = ['access_changed', 'since_gone']

/** What a stream is opened with. */
export interface StreamOptions {
  readonly scope: Scope
  /** Undefined for the present state. */
  readonly since: Position | undefined
  /** Why its caller may not go on; undefined if it may. */
  readonly refusal: () => Extract<EndCode, 'unauthorized' | 'access_changed'> | undefined
  /** Called once it has ended, for whatever reason. */
  readonly onEnd: () => void
}

/** What streams share. */
interface Shared {
  readonly store: ChangesStore
  readonly feed: Feed
  /** Called for an error that is none of the store's. */
  readonly onDefect: (error: unknown) => void
  readonly counts: { deliveries: number; gone: number }
}

/** A comment. */
const comment = Buffer.from(':\n')

export class Stream implements Listener {
  readonly filler = comment
  #outlet: Outlet | undefined
  /** Why it ended, for its client; undefined as long as it has not, and if its client has gone. */
  #lastEvent: Buffer | undefined
  #state: 'reading' | 'live' | 'blocked' = 'reading'
  /** Something may have changed up to here that was not sent. */
  #missed: LogPlace | undefined
  #isEnded = false
  /** Whether the last page that the client was sent said that there is nothing more. */
  #knowsAll = false
  #position: Position | undefined
  #nextEventMs = performance.now() + heartbeatMs * (0.5 + Math.random() / 2)
  readonly #untilMs = performance.now() + lifeMs * (1 + lifeSpread * (2 * Math.random() - 1))

  constructor(
    private readonly options: StreamOptions,
    private readonly shared: Shared,
  ) {
    this.#position = options.since
  }

  /** Whether its client has not taken everything. */
  get isBehind(): boolean {
    return this.#state !== 'live'
  }

  /** Begins to send. */
  begin(outlet: Outlet): void {
    const retryMs = Math.floor(retryMsMin + Math.random() * (retryMsMax - retryMsMin))
    // Without an empty line: it belongs to the first event, since some clients would take it for an empty one.
    outlet.send(Buffer.from(`retry: ${retryMs}\n`))
    // Its key may have been revoked since the request was let in.
    this.checkCaller()
    if (this.#lastEvent !== undefined) return outlet.end(this.#lastEvent)
    this.#outlet = outlet
    void this.#join()
  }

  /** The client takes more again. */
  onWritable(): void {
    if (this.#state === 'blocked') void this.#read()
  }

  /** The client has gone, or the stream was ended. */
  onGone(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.shared.feed.remove(this.options.scope, this)
    this.options.onEnd()
  }

  onPages(pages: readonly PageBytes[], reading: Reading): void {
    const position = this.#position
    const isLive = this.#state === 'live' && position !== undefined
    const verdict = isLive ? this.shared.feed.verdict(position.place, reading) : 'miss'
    if (verdict === 'ignore') return
    if (verdict === 'miss') return this.onMissed(reading.to)
    for (const page of pages) if (!this.#send(page)) return this.onMissed(reading.to)
  }

  onMissed(to: LogPlace): void {
    this.#missed = to
    if (this.#state === 'live') void this.#read()
  }

  onFailure(error: unknown): void {
    if (error instanceof Cancelled) return
    if (error instanceof StoreError) return this.end('store_unavailable')
    this.shared.onDefect(error)
    this.#outlet?.close()
  }

  end(code: EndCode): void {
    if (this.#isEnded) return
    const id = voiding.includes(code) ? 'id:\n' : ''
    this.#lastEvent = Buffer.from(`${id}event: end\ndata: ${JSON.stringify({ code, message: ends[code] })}\n\n`)
    this.#outlet?.end(this.#lastEvent)
    this.onGone()
  }

  /** Ends the stream if its caller may not go on, or it has lasted long enough; otherwise it shows that it lives. */
  check(nowMs: number): void {
    if (nowMs >= this.#untilMs) return this.end('rotated')
    if (nowMs < this.#nextEventMs || this.#state === 'blocked') return
    if (this.#state === 'reading') return this.#showLife()
    const next = this.shared.feed.position
    if (next !== undefined) this.#send(bytesOf({ results: [], hasMore: false, next }))
  }

  /** While a walk searches for long, there is nothing to say. Whether the client takes more, the next page will tell. */
  #showLife(): void {
    this.#nextEventMs = performance.now() + heartbeatMs
    this.#outlet?.send(comment)
  }

  checkCaller(): void {
    const refusal = this.options.refusal()
    if (refusal !== undefined) this.end(refusal)
  }

  async #join(): Promise<void> {
    try {
      await this.shared.feed.add(this.options.scope, this)
    } catch (error) {
      return this.onFailure(error)
    }
    // It may have ended meanwhile, before it was there.
    if (this.#isEnded) this.shared.feed.remove(this.options.scope, this)
    else await this.#read()
  }

  /** Sends pages from the position on, until it has everything, or its client takes no more. */
  async #read(): Promise<void> {
    const { scope } = this.options
    const bounds = { bytesMax: sharedPageBytesMax, cancellation: this.#cancellation }
    this.#state = 'reading'
    try {
      for (;;) {
        const page = await readPageAfter(this.shared.store, scope, this.#position, bounds)
        if (this.#isEnded) return
        if (page === 'gone') {
          this.shared.counts.gone++
          return this.end('since_gone')
        }
        const { results, hasMore, next } = page
        const isNews = results.length > 0 || (!hasMore && !this.#knowsAll)
        const isLate = performance.now() >= this.#nextEventMs - pageMsMax
        const takesMore = isNews || isLate ? this.#send(bytesOf(page)) : true
        this.#position = next
        if (!takesMore) return
        if (hasMore || (this.#missed !== undefined && !this.shared.store.isAfter(next.place, this.#missed))) continue
        this.#missed = undefined
        this.#state = 'live'
        return
      }
    } catch (error) {
      if (!this.#isEnded) this.onFailure(error)
    }
  }

  /** @returns whether the client takes more; otherwise the stream is blocked */
  #send({ hasMore, next, event }: PageBytes): boolean {
    this.#position = next
    this.#knowsAll = !hasMore
    this.#nextEventMs = performance.now() + heartbeatMs
    this.shared.counts.deliveries++
    const takesMore = this.#outlet?.send(event) === true
    if (!takesMore) this.#state = 'blocked'
    return takesMore
  }

  readonly #cancellation = ((stream: Stream) => ({
    get aborted() {
      return stream.#isEnded
    },
  }))(this)
}

/** All streams of a process. */
export class Streams {
  readonly counts = { deliveries: 0, gone: 0 }
  readonly #open = new Set<Stream>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    private readonly store: ChangesStore,
    private readonly feed: Feed,
    private readonly onDefect: (error: unknown) => void,
  ) {}

  /** Streams whose clients have not taken everything. */
  get behind(): number {
    let count = 0
    for (const { isBehind } of this.#open) if (isBehind) count++
    return count
  }

  /** A stream, which begins once it is given its outlet. */
  create(options: StreamOptions): Stream {
    const { store, feed, onDefect, counts } = this
    const onEnd = (): void => {
      this.#open.delete(stream)
      if (this.#open.size === 0) {
        clearInterval(this.#timer)
        this.#timer = undefined
      }
      options.onEnd()
    }
    const stream = new Stream({ ...options, onEnd }, { store, feed, onDefect, counts })
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#check(), checkMs)
    return stream
  }

  /** The API keys have changed. */
  checkCallers(): void {
    for (const stream of this.#open) stream.checkCaller()
  }

  endAll(code: EndCode): void {
    for (const stream of this.#open) stream.end(code)
  }

  #check(): void {
    const nowMs = performance.now()
    for (const stream of this.#open) stream.check(nowMs)
  }
}
