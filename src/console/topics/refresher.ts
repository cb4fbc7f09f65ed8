/**
 * Keeps what is on the screen fresh. A stream says when something changes; then each thing that is shown is fetched again
 * once, one a second at most. The next waits for the answers to the last one, and longer if they took long; so does one
 * that is told when to try again. While the service refuses a stream, it goes on without. Nothing is sent while the tab is
 * hidden.
 *
 * The stream is always there, so it also tells of outages, for all of the page: a new one is tried each second then, and
 * nothing else.
 */
import { type Changes, TopicdError } from '../../client/index.js'

const refreshMs = 1000

/** Maximum share of a service's time for a page that is only looked at, as one request after the other takes. */
const shareMax = 0.1

const waitMsMax = 30_000

/** A service that restarts is down for less, so a shorter outage is not mentioned. */
const unmentionedMs = 2000

export interface Refreshable {
  /** Unique among those on the screen. */
  readonly key: string
  /** Throws what the client throws, and is then tried again. */
  readonly refresh: () => Promise<void>
}

export class Refresher {
  /** Each turn refreshes one thing. */
  #turn = 1
  /** Everything that was refreshed before this turn is due. */
  #changedTurn = 1
  /** The last refresh of each thing on the screen, by its key. */
  #attempts: ReadonlyMap<string, { readonly turn: number; isDone: boolean }> = new Map()
  #isWatching = false
  /** The time of the loss, in ms since the epoch; undefined while connected. */
  #lostMs: number | undefined
  #isMentioned = false
  #mention: ReturnType<typeof setTimeout> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #stream: AbortController | undefined
  #isStopped = false

  /** @param things the main panel first @param follow the changes of everything that may be on the screen */
  constructor(
    private readonly things: () => readonly Refreshable[],
    private readonly follow: (signal: AbortSignal) => Changes,
    private readonly outageChanged: () => void,
  ) {}

  start(): void {
    void this.#watchChanges()
    this.#schedule(refreshMs)
  }

  stop(): void {
    this.#isStopped = true
    this.#stream?.abort()
    clearTimeout(this.#mention)
    clearTimeout(this.#timer)
  }

  /** The start of the outage, in ms since the epoch; undefined while the service answers. */
  get outageMs(): number | undefined {
    return this.#isMentioned ? this.#lostMs : undefined
  }

  #schedule(waitMs: number): void {
    this.#timer = setTimeout(async () => {
      if (!this.#isWatching) this.#changedTurn = this.#turn
      const next = document.hidden || this.#lostMs !== undefined ? undefined : this.#next()
      const nextMs = next === undefined ? refreshMs : await this.#refresh(next)
      if (!this.#isStopped) this.#schedule(nextMs)
    }, waitMs)
  }

  /** After one change the stream is closed, however many follow, and opened again a little later. */
  async #watchChanges(): Promise<void> {
    while (!this.#isStopped) {
      if (!document.hidden) await this.#awaitChange()
      await new Promise((resolve) => setTimeout(resolve, refreshMs))
    }
  }

  async #awaitChange(): Promise<void> {
    const stream = new AbortController()
    this.#stream = stream
    const changes = this.follow(stream.signal)
    changes.addEventListener('connected', () => this.#found())
    changes.addEventListener('disconnected', ({ detail: { error } }) => {
      this.#isWatching = false
      // Its own attempts become rare.
      if (!this.#isFound(error)) stream.abort()
    })
    try {
      for await (const { kind } of changes) {
        // When it is first complete, the stream has begun: earlier changes are fetched now. Later ones are heartbeats.
        if (kind !== 'complete' || !this.#isWatching) this.#changedTurn = this.#turn
        if (kind !== 'complete') return
        this.#isWatching = true
      }
    } catch (error) {
      // After a refusal, the other requests report what is wrong.
      if (!stream.signal.aborted) this.#isFound(error)
    } finally {
      this.#isWatching = false
    }
  }

  /** True if the service has refused the stream, so it is there. Otherwise the connection is lost. */
  #isFound(error: unknown): boolean {
    const isFound = error instanceof TopicdError && error.code !== 'unexpected_answer'
    if (isFound) this.#found()
    else if (this.#lostMs === undefined) {
      this.#lostMs = Date.now()
      this.#mention = setTimeout(() => {
        this.#isMentioned = true
        this.outageChanged()
      }, unmentionedMs)
    }
    return isFound
  }

  #found(): void {
    clearTimeout(this.#mention)
    this.#lostMs = undefined
    if (!this.#isMentioned) return
    this.#isMentioned = false
    this.outageChanged()
  }

  /** Every other time the first thing, if it is due; else the one that has waited longest. */
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

  /** @returns the wait before the next one, in ms */
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
