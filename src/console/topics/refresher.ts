/**
 * Keeps what is on the screen fresh: one request a second at most, for one thing at a time, and none while the tab is
 * hidden. The next request waits for the answer to the last one, and longer for one that took long or was large, so
 * that an idle page costs the service little; so does one that says when to try again.
 */
import { TopicdError } from '../../client/index.js'

/** Between two requests, in ms. */
const refreshMs = 1000

/** A page that is only looked at takes this share of a service's time at most, as one request after the other does. */
const shareMax = 0.1

const waitMsMax = 30_000

export class Refresher {
  #turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param things what can be refreshed now, each by one request, which may throw the answer that refuses it */
  constructor(private readonly things: () => readonly (() => Promise<void>)[]) {}

  start(waitMs = refreshMs): void {
    this.#timer = setTimeout(async () => {
      const nextMs = document.hidden ? refreshMs : await this.#refreshNext()
      if (this.#timer !== undefined) this.start(nextMs)
    }, waitMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /**
   * Every other request is for the first thing, on which someone's eyes rest.
   *
   * @returns how long to wait before the next, in ms
   */
  async #refreshNext(): Promise<number> {
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
