/**
 * Keeps what is on the screen fresh. A stream says when something changes; then what is shown is fetched again, by one
 * request a second at most, for one thing at a time, and a while after the last change no more. The next request waits
 * for the answer to the last one, and longer for one that took long or was large; so does one that says when to try again.
 * While there is no stream, or too many wait for one, it goes on without. Nothing is sent while the tab is hidden.
 */
import { type Change, TopicdError } from '../../client/index.js'

/** Between two requests, in ms. */
const refreshMs = 1000

/** A page that is only looked at takes this share of a service's time at most, as one request after the other does. */
const shareMax = 0.1

const waitMsMax = 30_000

/** Requests after a change: enough for each page of what is on the screen, of ordinary trees. */
const turnsAfterChange = 20

export class Refresher {
  #turn = 0
  /** Requests that are left before the next change. */
  #turnsLeft = turnsAfterChange
  #isWatching = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: AbortController | undefined

  /**
   * @param things what can be refreshed now, each by one request, which may throw the answer that refuses it
   * @param follow what changes of all that may be on the screen, from now on
   */
  constructor(
    private readonly things: () => readonly (() => Promise<void>)[],
    private readonly follow: (signal: AbortSignal) => AsyncIterable<Change>,
  ) {}

  start(): void {
    this.#watch = new AbortController()
    void this.#watchChanges(this.#watch.signal)
    this.#schedule(refreshMs)
  }

  stop(): void {
    this.#watch?.abort()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(waitMs: number): void {
    this.#timer = setTimeout(async () => {
      const isIdle = document.hidden || (this.#isWatching && this.#turnsLeft <= 0)
      const nextMs = isIdle ? refreshMs : await this.#refreshNext()
      if (this.#timer !== undefined) this.#schedule(nextMs)
    }, waitMs)
  }

  /** A change is told once, however many there are: the stream is left then, and taken up again a little later. */
  async #watchChanges(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!document.hidden) await this.#awaitChange(signal)
      await new Promise((resolve) => setTimeout(resolve, refreshMs))
    }
  }

  async #awaitChange(signal: AbortSignal): Promise<void> {
    try {
      let hasBegun = false
      for await (const { kind } of this.follow(signal)) {
        // The first time it is complete the stream has begun: what came before that is fetched now. Later it only lives.
        if (kind !== 'complete' || !hasBegun) this.#turnsLeft = turnsAfterChange
        if (kind !== 'complete') return
        hasBegun = this.#isWatching = true
      }
    } catch {
      // The requests that go on without say what is wrong.
      this.#isWatching = false
    }
  }

  /**
   * Every other request is for the first thing, on which someone's eyes rest.
   *
   * @returns how long to wait before the next, in ms
   */
  async #refreshNext(): Promise<number> {
    this.#turnsLeft--
    const [first, ...others] = this.things()
    const turn = this.#turn++
    const other = turn % 2 === 1 ? others[Math.floor(turn / 2) % others.length] : undefined
    const startMs = performance.now()
    try {
      await (other ?? first)?.()
    } catch (error) {
      if (error instanceof TopicdError && error.retryAfterSeconds !== undefined) {
        return Math.max(refreshMs, error.retryAfterSeconds * 1000)
      }
    }
    return Math.min(Math.max(refreshMs, (performance.now() - startMs) / shareMax), waitMsMax)
  }
}
