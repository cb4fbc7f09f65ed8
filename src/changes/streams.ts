/** Streams: server-sent events, each with a page of changes that a follower gives, over a connection that stays open. */
import { Cancelled } from '../base/cancellation.js'
import { StoreError } from '../store/errors.js'
import { sharedPageBytesMax } from './feed.js'
import { Follower, type Shared } from './follower.js'
import type { ChangesPage, PageBytes } from './page.js'
import { pageMsMax } from './pages.js'
import type { Scope } from './scope.js'
import type { Position } from './token.js'

interface Outlet {
  /** Sends bytes, all of them; returns whether the client takes more at the moment. */
  send(bytes: Uint8Array): boolean
  end(bytes: Uint8Array): void
  /** Closes the connection immediately. */
  close(): void
}

/** Between two events, in ms: proxies and clients give a silent connection up after 30 s or more. */
const heartbeatMs = 15_000

/** How long a stream lasts, in ms, give or take `lifeSpread`: so streams spread over the workers again. */
const lifeMs = 600_000
const lifeSpread = 0.2

/** In ms. Clients return at random, so that those of a worker that stops do not return together. */
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

/** After these ends the last id is of no use, so they reset it: a client that resumes would send it again and again. */
const voiding: readonly EndCode[] = ['access_changed', 'since_gone']

export interface StreamOptions {
  readonly scope: Scope
  /** Undefined for the present state. */
  readonly since: Position | undefined
  /** Why its caller may not continue; undefined if it may. */
  readonly refusal: () => Extract<EndCode, 'unauthorized' | 'access_changed'> | undefined
  /** Called once it has ended, for whatever reason. */
  readonly onEnd: () => void
}

const comment = Buffer.from(':\n')

export class Stream extends Follower {
  readonly filler = comment
  #outlet: Outlet | undefined
  /** The end event for its client; undefined while the stream is open, and if the client disconnected. */
  #lastEvent: Buffer | undefined
  /** True if the last page that the client was sent said that nothing more follows. */
  #knowsAll = false
  #nextEventMs = performance.now() + heartbeatMs * (0.5 + Math.random() / 2)
  readonly #untilMs = performance.now() + lifeMs * (1 + lifeSpread * (2 * Math.random() - 1))

  constructor(
    private readonly options: StreamOptions,
    shared: Shared,
  ) {
    super(shared, options.scope, options.since, sharedPageBytesMax)
  }

  get isBehind(): boolean {
    return this.state !== 'live'
  }

  begin(outlet: Outlet): void {
    const retryMs = Math.floor(retryMsMin + Math.random() * (retryMsMax - retryMsMin))
    // Without an empty line: it belongs to the first event, since some clients would take it for an empty one.
    outlet.send(Buffer.from(`retry: ${retryMs}\n`))
    // Its key may have been revoked since the request was let in.
    this.checkCaller()
    if (this.#lastEvent !== undefined) return outlet.end(this.#lastEvent)
    this.#outlet = outlet
    void this.join()
  }

  /** The client has gone, or the stream was ended. */
  onGone(): void {
    if (this.aborted) return
    this.leave()
    this.options.onEnd()
  }

  protected wants({ results, hasMore }: ChangesPage): boolean {
    if (results.length > 0 || (!hasMore && !this.#knowsAll)) return true
    return performance.now() >= this.#nextEventMs - pageMsMax
  }

  protected give({ hasMore, event }: PageBytes): boolean {
    this.#knowsAll = !hasMore
    this.#nextEventMs = performance.now() + heartbeatMs
    this.shared.counts.deliveries++
    return this.#outlet?.send(event) === true
  }

  protected onLost(): void {
    this.end('since_gone')
  }

  onFailure(error: unknown): void {
    if (error instanceof Cancelled) return
    if (error instanceof StoreError) return this.end('store_unavailable')
    this.shared.onDefect(error)
    this.#outlet?.close()
  }

  end(code: EndCode): void {
    if (this.aborted) return
    const id = voiding.includes(code) ? 'id:\n' : ''
    this.#lastEvent = Buffer.from(`${id}event: end\ndata: ${JSON.stringify({ code, message: ends[code] })}\n\n`)
    this.#outlet?.end(this.#lastEvent)
    this.onGone()
  }

  /** Ends the stream if its caller may not go on, or it has lasted long enough; otherwise it shows that it lives. */
  check(nowMs: number): void {
    if (nowMs >= this.#untilMs) return this.end('rotated')
    if (nowMs < this.#nextEventMs) return
    if (this.state !== 'reading') return this.giveEmpty()
    // While a walk searches for long, there is nothing to say. Whether the client takes more, the next page will tell.
    this.#nextEventMs = performance.now() + heartbeatMs
    this.#outlet?.send(comment)
  }

  checkCaller(): void {
    const refusal = this.options.refusal()
    if (refusal !== undefined) this.end(refusal)
  }
}
