/**
 * Keeps what is on the screen fresh: one request a second at most, for one thing at a time, and none while the tab is
 * hidden. The next request waits for the answer to the last one, so a slow service gets fewer.
 */

/** Between two requests, in ms. */
const refreshMs = 1000

export class Refresher {
  readonly #things: () => readonly (() => Promise<void>)[]
  #turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param things what can be refreshed now, each by one request */
  constructor(things: () => readonly (() => Promise<void>)[]) {
    this.#things = things
  }

  start(): void {
    this.#timer = setTimeout(async () => {
      if (!document.hidden) await this.#refreshNext().catch(() => {})
      if (this.#timer !== undefined) this.start()
    }, refreshMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Every other request is for the first thing, on which someone's eyes rest. */
  async #refreshNext(): Promise<void> {
    const [first, ...others] = this.#things()
    const turn = this.#turn++
    const other = turn % 2 === 1 ? others[Math.floor(turn / 2) % others.length] : undefined
    await (other ?? first)?.()
  }
}
