/**
 * Pages of changes without end: a stream that is taken up again whenever it ends, from its last page. Long polls take the
 * place of a stream that a proxy holds back, and short ones where there is no place for a connection that stays open.
 * docs/changes.md says what the service promises.
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { type Connection, ConnectionLost } from '../connection.js'
import { TopicdError } from '../error.js'
import { controllerWithin, wait } from '../wait.js'
import { Attempt, type ChangesPage, Ended, HeldBack } from './attempt.js'
import type { Place, Places } from './places.js'

/** How long polls replace a held-back stream, in ms. The cause may pass, but each attempt is blind for seconds. */
const pollingMs = 600_000

const pollSeconds = 30

const shortPollMs = 1000

/** The wait before the second attempt, in ms, doubles with each failure up to the longest; each is shortened at random. */
const firstWaitMs = 500
const waitMsMax = 30_000

/**
 * `restarted`: changes were missed; the current state follows. `connected`: an answer arrives, also after outages. `outage`: an
 * attempt or a stream has failed; a wait follows.
 */
export type Step =
  | ChangesPage
  | { readonly kind: 'restarted' | 'connected' }
  | { readonly kind: 'outage'; readonly error: unknown }

interface PageStreamOptions {
  readonly connection: Connection
  /** Everything but `since` and `wait`; called for each attempt. */
  readonly members: (since: string | undefined) => ChangesBody
  readonly since: string | undefined
  /** Undefined for short polls alone. */
  readonly places: Places | undefined
  /** Called for each step; the next page waits for the promise. */
  readonly onStep: (step: Step) => Promise<void>
  readonly signal: AbortSignal
}

/** Aborts an attempt so that the next one begins immediately. */
const again = new Error('the next attempt takes its place')

export class PageStream {
  #since: string | undefined
  #attempt: AbortController | undefined
  #place: Place | undefined
  #isConnected = false
  /** The end of polling, by `performance.now()`. */
  #pollsUntilMs = 0
  /** False until a page was the last one: until then even a page without results is news. */
  #hasAll = false
  /** Counts attempts in a row that brought no page. */
  #failures = 0
  /** Counts restarts in a row, none of which had everything for `waitMsMax`. */
  #restarts = 0
  /** The time, by `performance.now()`, when it first had everything after the last restart. */
  #completeMs = Number.POSITIVE_INFINITY

  constructor(private readonly options: PageStreamOptions) {
    this.#since = options.since
  }

  /** Begins the next attempt immediately, at `since`; anything that the current one has not shown is dropped. */
  reopen(since: string | undefined): void {
    this.#since = since
    this.#hasAll = false
    this.#tryAgain()
  }

  /** @throws TopicdError when the service refuses for good; the signal's reason; a defect */
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
        // Pages of an attempt that is over may be on their way.
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
    if (waitMs > 0) await wait(waitMs, signal).catch(() => this.options.signal.throwIfAborted())
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
    // The first poll after an outage reports immediately that it is over.
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

  /** Begins the next attempt immediately, if there is an outage. */
  retry(): void {
    if (!this.#isConnected) this.#tryAgain()
  }

  #tryAgain(): void {
    this.#attempt?.abort(again)
  }

  /** @throws the error if trying again would not help */
  #waitAfter(error: unknown): number {
    if (error instanceof HeldBack) {
      this.#pollsUntilMs = performance.now() + pollingMs
      return 0
    }
    if (error instanceof Ended) return error.waitMs
    if (isGone(error)) {
      // Each restart asks for everything: a service that forgets at once would be asked for it without end.
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

/** A 200 that cannot be read is no passing state: another service answers there. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TopicdError)) return error instanceof ConnectionLost
  return error.status >= 429 || (error.code === 'unexpected_answer' && error.status !== 200)
}

function randomWaitMs(failures: number): number {
  return Math.min(waitMsMax, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2)
}
