/**
 * Pages of changes without end: a stream that is taken up again whenever it ends, from its last page. Long polls take the
 * place of a stream that a proxy holds back, and short ones where there is no place for a connection that stays open.
 * docs/changes.md says what the service promises.
 */
import type { ChangesBody } from '../../api/bodies/bodies.js'
import { type Connection, ConnectionLost } from '../connection.js'
import { TopicdError } from '../error.js'
import { wait } from '../wait.js'
import { Attempt, type ChangesPage, Ended, HeldBack } from './attempt.js'
import type { Place, Places } from './places.js'

/**
 * How long polls take the place of a stream that was held back, in ms. What held it back may have been a slow moment, or
 * have gone; and each attempt takes some seconds, in which nothing is seen.
 */
const pollingMs = 600_000

/** How long a poll waits, in seconds. */
const pollSeconds = 30

/** Between short polls that wait for something else, in ms. */
const shortPollMs = 1000

/** The wait before the second attempt, in ms, doubles with each failure up to the longest; each is shortened at random. */
const firstWaitMs = 500
const waitMsMax = 30_000

/** An attempt, or a stream, has failed, so that it waits. */
export interface Outage {
  readonly outage: unknown
}

/**
 * A page; that what was missed is no longer known, so that the present state follows; or what has become of the connection:
 * `connected` with the first piece of an answer, at the start and after outages.
 */
export type Step = ChangesPage | 'restarted' | 'connected' | Outage

/** What a stream needs, and whom it tells of its connection. */
interface PageStreamOptions {
  readonly connection: Connection
  /** The request, except `since` and `wait`; asked for at each attempt. */
  readonly members: (since: string | undefined) => ChangesBody
  readonly since: string | undefined
  /** Undefined for short polls alone. */
  readonly places: Places | undefined
  /** Called for each step; what follows a page waits for what it returns. */
  readonly onStep: (step: Step) => Promise<void>
}

/** Why an attempt ends: the next one is to begin at once. */
const again = new Error('the next attempt takes its place')

export class PageStream {
  /** Where it goes on. */
  #since: string | undefined
  #attempt = new AbortController()
  #place: Place | undefined
  #isConnected = false
  /** Until then it polls, by `performance.now()`. */
  #pollsUntilMs = 0
  /** Whether the last page was the end of what there is. Until then even a page without results says something new. */
  #hasAll = false
  /** Attempts in a row that brought no page. */
  #failures = 0
  /** Restarts in a row, none of which had everything for `waitMsMax`. */
  #restarts = 0
  /** When it first had everything since the last restart, by `performance.now()`. */
  #completeMs = Number.POSITIVE_INFINITY

  constructor(
    private readonly options: PageStreamOptions,
    private readonly signal: AbortSignal,
  ) {
    this.#since = options.since
  }

  /** Begins the next attempt at once, from there; what the present one has not shown is dropped. */
  reopen(since: string): void {
    this.#since = since
    this.#hasAll = false
    this.#tryAgain()
  }

  /** Goes on until it fails. @throws TopicdError when the service refuses for good; the signal's reason; a defect */
  async run(): Promise<never> {
    const abort = () => this.#attempt.abort(this.signal.reason)
    this.signal.addEventListener('abort', abort)
    const unwatch = this.options.places?.watch(() => this.#tryAgain())
    try {
      for (;;) {
        this.signal.throwIfAborted()
        this.#attempt = new AbortController()
        await this.#try(this.#attempt.signal)
      }
    } finally {
      unwatch?.()
      this.signal.removeEventListener('abort', abort)
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
      this.signal.throwIfAborted()
      if (error === again) return
      waitMs = this.#waitAfter(error)
      if (waitMs > 0) await this.#tellOutage(error)
      if (isGone(error)) {
        this.#since = undefined
        this.#hasAll = false
        this.#completeMs = Number.POSITIVE_INFINITY
        await this.options.onStep('restarted')
      }
    }
    if (waitMs > 0) await wait(waitMs, this.signal)
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
    // The first poll after an outage says at once that it is over.
    else yield await this.#ask(signal, this.#hasAll && this.#isConnected ? pollSeconds : 0).page()
  }

  #ask(signal: AbortSignal, wait?: number): Attempt {
    const { connection, members, onStep } = this.options
    const body = { ...members(this.#since), since: this.#since, wait }
    return new Attempt(connection, body, signal, () => {
      if (!this.#isConnected) void onStep('connected')
      this.#isConnected = true
    })
  }

  #take({ has_more, next }: ChangesPage): void {
    this.#failures = 0
    this.#since = next
    this.#hasAll = !has_more
    if (!has_more) this.#completeMs = Math.min(this.#completeMs, performance.now())
  }

  #tryAgain(): void {
    this.#attempt.abort(again)
  }

  async #tellOutage(error: unknown): Promise<void> {
    this.#isConnected = false
    await this.options.onStep({ outage: error instanceof ConnectionLost ? error.cause : error })
  }

  /** How long to wait after a failure, in ms. @throws the error if trying again would not help */
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

/** Whether another attempt may succeed. A 200 that cannot be read is no passing state: another service answers there. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TopicdError)) return error instanceof ConnectionLost
  return error.status >= 429 || (error.code === 'unexpected_answer' && error.status !== 200)
}

/** @param failures how many came before this one */
function randomWaitMs(failures: number): number {
  return Math.min(waitMsMax, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2)
}
