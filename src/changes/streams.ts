/** Streams: server-sent events over a connection that stays open; each event contains one page of changes from a follower. */
import { Cancelled } from '../base/cancellation.js'
import { StoreError } from '../store/errors.js'
import { sharedPageBytesMax } from './feed.js'
import { Follower, type Shared } from './follower.js'
import type { ChangesPage, PageBytes } from './page.js'
import { pageMsMax } from './pages.js'
import type { Scope } from './scope.js'
import type { Position } from './token.js'

interface Outlet {
  /** Sends all bytes; returns whether the client can take more at the moment. */
  send(bytes: Uint8Array): boolean
  end(bytes: Uint8Array): void
  /** Closes the connection immediately. */
  close(): void
}

/** Maximum ms between events: proxies and clients close a silent connection after 30 s or more. */
const heartbeatMs = 15_000

/** Duration of a stream in ms, varied by `lifeSpread`, so that streams are redistributed over the workers. */
const lifeMs = 600_000
const lifeSpread = 0.2

/** Reconnect delay in ms, randomised so that the clients of a stopping worker do not all return together. */
const retryMsMin = 1000
const retryMsMax = 5000

/** Reasons for the end of a stream: codes for programs, messages for people. */
const ends = {
  rotated: 'This stream has reached its maximum duration; reconnect with the last event id.',
  draining: 'This worker is shutting down; reconnect with the last event id.',
  unauthorized: 'The API key of this stream is no longer valid.',
  access_changed: 'The permissions of this API key have changed; start over without an event id.',
  since_gone: 'The changes after this event id are no longer available; start over without one.',
  store_unavailable: 'The store is unavailable; reconnect later with the last event id.',
} as const

type EndCode = keyof typeof ends

/** These ends clear the last event id, which is no longer valid; otherwise a reconnecting client would keep sending it. */
const voiding: readonly EndCode[] = ['access_changed', 'since_gone']

export interface StreamOptions {
  readonly scope: Scope
  /** Undefined for the present state. */
  readonly since: Position | undefined
  /** The reason why the caller is no longer allowed to continue; undefined if it still is. */
  readonly refusal: () => Extract<EndCode, 'unauthorized' | 'access_changed'> | undefined
  /** Called once the stream has ended, for any reason. */
  readonly onEnd: () => void
}

const comment = Buffer.from(':\n')

export class Stream extends Follower {
  readonly filler = comment
  #outlet: Outlet | undefined
  /** The end event for the client; undefined while the stream is open, or if the client disconnected. */
  #lastEvent: Buffer | undefined
  /** True if the last page sent to the client had `hasMore: false`. */
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
    // No blank line after `retry`, because some clients would treat that as an empty event; `retry` becomes part of the first event.
    outlet.send(Buffer.from(`retry: ${retryMs}\n`))
    // The key may have been revoked after the request was accepted.
    this.checkCaller()
    if (this.#lastEvent !== undefined) return outlet.end(this.#lastEvent)
    this.#outlet = outlet
    void this.join()
  }

  /** Called when the client has disconnected or the stream was ended. */
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

  /** Ends the stream if it has reached its maximum duration; otherwise sends a heartbeat if one is due. */
  check(nowMs: number): void {
    if (nowMs >= this.#untilMs) return this.end('rotated')
    if (nowMs < this.#nextEventMs) return
    if (this.state !== 'reading') return this.giveEmpty()
    // Heartbeat during a long search: send a comment. The next page shows whether the client can take more.
    this.#nextEventMs = performance.now() + heartbeatMs
    this.#outlet?.send(comment)
  }

  checkCaller(): void {
    const refusal = this.options.refusal()
    if (refusal !== undefined) this.end(refusal)
  }
}
