/**
 * Keeps what is on the screen fresh. A stream says when something changes; then each thing that is shown is fetched again
 * once, one a second at most. The next waits for the answers to the last one, and longer if they took long; so does one
 * that is told when to try again. While there is no stream, or too many wait for one, it goes on without. Nothing is sent
 * while the tab is hidden.
 */
import { type Change, TopicdError } from '../../client/index.js'

/** Between two things, in ms. */
const refreshMs = 1000

/** A page that is only looked at takes this share of a service's time at most, as one request after the other does. */
const shareMax = 0.1

const waitMsMax = 30_000

/** Something on the screen that can be fetched again. */
export interface Refreshable {
  /** Its name among those on the screen. */
  readonly key: string
  /** Fetches all of it; throws what the client throws, and is then tried again. */
  readonly refresh: () => Promise<void>
}

export class Refresher {
  /** The number of the next turn, in which one thing is refreshed. */
  #turn = 1
  /** The turn before which something changed last: what was refreshed before that is due. */
  #changedTurn = 1
  /** In which turn each thing on the screen was refreshed last, by its key, and whether that has succeeded. */
  #attempts: ReadonlyMap<string, { readonly turn: number; isDone: boolean }> = new Map()
  #isWatching = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: AbortController | undefined

  /**
   * @param things what can be refreshed now; on the first of them someone's eyes rest
   * @param follow what changes of all that may be on the screen, from now on
   */
  constructor(
    private readonly things: () => readonly Refreshable[],
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
      if (!this.#isWatching) this.#changedTurn = this.#turn
      const next = document.hidden ? undefined : this.#next()
      const nextMs = next === undefined ? refreshMs : await this.#refresh(next)
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
        if (kind !== 'complete' || !hasBegun) this.#changedTurn = this.#turn
        if (kind !== 'complete') return
        hasBegun = this.#isWatching = true
      }
    } catch {
      // The requests that go on without say what is wrong.
      this.#isWatching = false
    }
  }

  /** Of what is due, every other time the first thing, else the one that waits for longest; undefined if nothing is. */
  #next(): Refreshable | undefined {
    const things = this.things()
    const turnOf = ({ key }: Refreshable): number => this.#attempts.get(key)?.turn ?? 0
    const isDone = ({ key }: Refreshable): boolean => this.#attempts.get(key)?.isDone === true
    const due = things.filter((thing) => turnOf(thing) < this.#changedTurn || !isDone(thing))
    const [first] = due
    const wasFirst = first !== undefined && turnOf(first) === this.#turn - 1
    if (first === undefined || (first === things[0] && !wasFirst)) return first
    return due.reduce((a, b) => (turnOf(b) < turnOf(a) ? b : a))
  }

  /** @returns how long to wait before the next, in ms */
  async #refresh({ key, refresh }: Refreshable): Promise<number> {
    const shown = new Set(this.things().map((thing) => thing.key))
    const attempt = { turn: this.#turn++, isDone: false }
    this.#attempts = new Map([...this.#attempts, [key, attempt] as const].filter(([known]) => shown.has(known)))
    const startMs = performance.now()
    try {
      await refresh()
      attempt.isDone = true
    } catch (error) {
      if (error instanceof TopicdError && error.retryAfterSeconds !== undefined) {
        return Math.max(refreshMs, error.retryAfterSeconds * 1000)
      }
    }
    return Math.min(Math.max(refreshMs, (performance.now() - startMs) / shareMax), waitMsMax)
  }
}
