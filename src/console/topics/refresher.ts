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

/** Between two things, in ms. */
const refreshMs = 1000

/** A page that is only looked at takes this share of a service's time at most, as one request after the other does. */
const shareMax = 0.1

const waitMsMax = 30_000

/** For how long a lost connection is not mentioned, in ms: a service that restarts takes less. */
const unmentionedMs = 2000

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
  /** Whether there is a stream that says when something changes. */
  #isWatching = false
  /** When the connection was lost, in ms since the epoch; undefined while there is one. */
  #lostMs: number | undefined
  #isMentioned = false
  #mention: ReturnType<typeof setTimeout> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #stream: AbortController | undefined
  #isStopped = false

  /**
   * @param things what can be refreshed now; on the first of them someone's eyes rest
   * @param follow what changes of all that may be on the screen, from now on
   * @param outageChanged called when an outage has begun or ended
   */
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

  /** Since when the service does not answer, in ms since the epoch; undefined while it does. */
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

  /** A change is told once, however many there are: the stream is left then, and taken up again a little later. */
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
        // The first time it is complete the stream has begun: what came before that is fetched now. Later it only lives.
        if (kind !== 'complete' || !this.#isWatching) this.#changedTurn = this.#turn
        if (kind !== 'complete') return
        this.#isWatching = true
      }
    } catch (error) {
      // Of a refusal, the requests that go on say what is wrong.
      if (!stream.signal.aborted) this.#isFound(error)
    } finally {
      this.#isWatching = false
    }
  }

  /** Whether an error shows that the service is there: it has refused the stream. Otherwise the connection is lost. */
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
