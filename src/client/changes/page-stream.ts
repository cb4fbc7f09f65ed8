/**
 * An endless sequence of pages of changes: a stream that is resumed from its last page whenever it ends. Long polls replace
 * a stream that a proxy buffers; short polls are used if no place for an open connection is free. docs/changes.md describes
 * the service's guarantees.
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { type Connection, ConnectionLost } from '../connection.js'
import { TopicdError } from '../error.js'
import { controllerWithin, wait } from '../wait.js'
import { Attempt, type ChangesPage, Ended, HeldBack } from './attempt.js'
import type { Place, Places } from './places.js'

/** The time for which polls replace a buffered stream, in ms. The cause may disappear, but each attempt costs seconds without data. */
const pollingMs = 600_000

const pollSeconds = 30

const shortPollMs = 1000

/** The wait before the second attempt, in ms. It doubles with each failure up to the maximum; each wait is shortened randomly. */
const firstWaitMs = 500
const waitMsMax = 30_000

/**
 * `restarted`: changes were missed; the current state follows. `connected`: a response is arriving, initially or after an
 * outage. `outage`: an attempt or a stream failed; a wait follows.
 */
export type Step =
  | ChangesPage
  | { readonly kind: 'restarted' | 'connected' }
  | { readonly kind: 'outage'; readonly error: unknown }

interface PageStreamOptions {
  readonly connection: Connection
  /** Returns all members except `since` and `wait`; called for each attempt. */
  readonly members: (since: string | undefined) => ChangesBody
  readonly since: string | undefined
  /** Undefined to use only short polls. */
  readonly places: Places | undefined
  /** Called for each step; the next page is read once the promise resolves. */
  readonly onStep: (step: Step) => Promise<void>
  readonly signal: AbortSignal
}

/** Aborts an attempt so that the next one starts immediately. */
const again = new Error('replaced by the next attempt')

export class PageStream {
  #since: string | undefined
  #attempt: AbortController | undefined
  /** Ends the wait between two attempts. */
  #waiting: AbortController | undefined
  #place: Place | undefined
  #isConnected = false
  /** Polls replace the stream until this time, by `performance.now()`. */
  #pollsUntilMs = 0
  /** True once the last page has arrived; until then, polls do not wait. */
  #hasAll = false
  /** Consecutive attempts that returned no page. */
  #failures = 0
  /** Consecutive restarts after which the complete state lasted at most `waitMsMax`. */
  #restarts = 0
  /** The time, by `performance.now()`, of the first complete state after the last restart. */
  #completeMs = Number.POSITIVE_INFINITY

  constructor(private readonly options: PageStreamOptions) {
    this.#since = options.since
  }

  /** Starts the next attempt immediately, at `since`, and drops the current attempt's undelivered pages. */
  reopen(since: string | undefined): void {
    this.#since = since
    this.#hasAll = false
    this.#tryAgain()
  }

  /** @throws TopicdError if the service rejects the request permanently; the signal's reason; a defect */
  async run(): Promise<never> {
    const { places, signal } = this.options
    const unwatch = places?.watch(() => this.#tryAgain())
    try {
      for (;;) {
        signal.throwIfAborted()
        this.#attempt = controllerWithin(signal)
        await this.#try(this.#attempt.signal)
        this.#attempt.abort()
      }
    } finally {
      unwatch?.()
      this.#place?.giveBack()
    }
  }

  async #try(signal: AbortSignal): Promise<void> {
    let waitMs = 0
    try {
      for await (const page of this.#pages(signal)) {
        // An aborted attempt may still deliver pages.
        if (signal.aborted) return
        this.#take(page)
        await this.options.onStep(page)
      }
    } catch (error) {
      this.options.signal.throwIfAborted()
      if (error === again) return
      waitMs = this.#waitAfter(error)
      if (waitMs > 0) {
        this.#isConnected = false
        await this.options.onStep({ kind: 'outage', error: error instanceof ConnectionLost ? error.cause : error })
      }
      if (isGone(error)) {
        this.#since = undefined
        this.#hasAll = false
        this.#completeMs = Number.POSITIVE_INFINITY
        await this.options.onStep({ kind: 'restarted' })
      }
    }
    this.#waiting = controllerWithin(signal)
    if (waitMs > 0) await wait(waitMs, this.#waiting.signal).catch(() => this.options.signal.throwIfAborted())
  }

  async *#pages(signal: AbortSignal): AsyncGenerator<ChangesPage, void, undefined> {
    const { places } = this.options
    this.#place ??= await places?.take(() => {
      this.#place = undefined
      this.#tryAgain()
    })
    if (this.#place === undefined) {
      const page = await this.#ask(signal, 0).page()
      yield page
      if (!page.has_more) await wait(places?.pollMs ?? shortPollMs, signal)
    } else if (performance.now() >= this.#pollsUntilMs) yield* this.#ask(signal).pages()
    // The first poll after an outage does not wait, so that the connection is reported immediately.
    else yield await this.#ask(signal, this.#hasAll && this.#isConnected ? pollSeconds : 0).page()
  }

  #ask(signal: AbortSignal, wait?: number): Attempt {
    const { connection, members, onStep } = this.options
    const body = { ...members(this.#since), since: this.#since, wait }
    return new Attempt(connection, body, signal, () => {
      if (!this.#isConnected) void onStep({ kind: 'connected' })
      this.#isConnected = true
    })
  }

  #take({ has_more, next }: ChangesPage): void {
    this.#failures = 0
    this.#since = next
    this.#hasAll = !has_more
    if (!has_more) this.#completeMs = Math.min(this.#completeMs, performance.now())
  }

  /** Starts the next attempt immediately if there is a wait; one that is running continues. */
  retry(): void {
    this.#waiting?.abort(again)
  }

  #tryAgain(): void {
    this.#attempt?.abort(again)
  }

  /** The wait before the next attempt, in ms. @throws the error if another attempt would not help */
  #waitAfter(error: unknown): number {
    if (error instanceof HeldBack) {
      this.#pollsUntilMs = performance.now() + pollingMs
      return 0
    }
    if (error instanceof Ended) return error.waitMs
    if (isGone(error)) {
      // Each restart requests the whole state. If the changes are soon gone again, such requests must be spaced out.
      if (performance.now() - this.#completeMs > waitMsMax) this.#restarts = 0
      return randomWaitMs(this.#restarts++)
    }
    if (!mayPass(error)) throw error
    const asked = error instanceof TopicdError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
    return Math.max(asked, randomWaitMs(this.#failures++))
  }
}

function isGone(error: unknown): boolean {
  return error instanceof TopicdError && error.code === 'since_gone'
}

/** An unreadable 200 is permanent: the response is from another service. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TopicdError)) return error instanceof ConnectionLost
  return error.status >= 429 || (error.code === 'unexpected_answer' && error.status !== 200)
}

function randomWaitMs(failures: number): number {
  return Math.min(waitMsMax, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2)
}
