/**
 * Following changes: a stream that is taken up again whenever it ends, from the last page that was seen. Where a proxy
 * holds streams back, long polls take its place. docs/changes.md says what the service promises.
 */
import type { ChangesBody } from '../api/bodies/bodies.js'
import { type Connection, ConnectionLost, overNetwork } from './connection.js'
import { readAnswer, TopicdError } from './error.js'
import { EventParser } from './event-stream.js'
import { type ConnectionEvents, type Disconnection, TypedTarget } from './events.js'
import { type Item, itemOf } from './item.js'
import { elementsOf, membersOf } from './json-slices.js'
import { wait } from './wait.js'

/** What happened to what is followed. */
export type Change =
  /** The topic is there, and this is what it is now. */
  | { readonly kind: 'topic'; readonly path: string; readonly item: Item }
  /** There is no such topic, or it is of another type than asked for. */
  | { readonly kind: 'removed'; readonly path: string }
  /** All changes so far together are the state of one moment. */
  | { readonly kind: 'complete' }
  /** What was missed is no longer known: the present state follows, and what it lacks is gone. */
  | { readonly kind: 'restarted' }

export interface ChangesOptions extends Omit<ChangesBody, 'path' | 'selector' | 'wait'> {
  /** Ends it when it is aborted; the iteration throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

interface Page {
  readonly has_more: boolean
  readonly changes: readonly Change[]
  readonly next: string
}

const eventStream = 'text/event-stream'

/** How long the first piece of a stream may take, in ms: the service sends it at once, so something holds it back. */
const firstPieceMsMax = 5000

/** A stream that is silent for so long, in ms, is dead: the service says something every 15 s. */
const silenceMsMax = 40_000

/**
 * How long polls take the place of a stream that was held back, in ms. What held it back may have been a slow moment, or
 * have gone; and each attempt costs `firstPieceMsMax`, in which nothing is seen.
 */
const pollingMs = 600_000

/** How long a poll waits, in seconds. */
const pollSeconds = 30

/** How long the first piece of a poll's answer may take, in ms: as long as the poll waits, and 10 s for the way. */
const pollMsMax = (pollSeconds + 10) * 1000

/** The same for one that does not wait, but may search: the service gives up after 120 s. */
const searchMsMax = 130_000

/** The wait before the second attempt, in ms, doubles with each failure up to the longest; each is shortened at random. */
const firstWaitMs = 500
const waitMsMax = 30_000

/** The results of a page, as changes. @throws SyntaxError for a text that is not a page of changes */
function pageOf(text: string): Page {
  const members = membersOf(text)
  const [has_more, next] = ['has_more', 'next'].map((name) => JSON.parse(members.get(name) ?? 'null') as unknown)
  if (typeof has_more !== 'boolean' || typeof next !== 'string') throw new SyntaxError('not a page of changes')
  return { has_more, next, changes: elementsOf(members.get('results') ?? '').map(changeOf) }
}

function changeOf(text: string): Change {
  if (!membersOf(text).has('removed')) {
    const item = itemOf(text)
    return { kind: 'topic', path: item.path, item }
  }
  return { kind: 'removed', path: JSON.parse(membersOf(text).get('path') ?? 'null') as string }
}

/**
 * Follows what a selector matches, from the first iteration on; made by `Client.changes`. Its events, of which the second
 * comes once for each outage:
 *
 *     connected      the first piece of an answer has arrived
 *     disconnected   a CustomEvent<Disconnection>: it waits, and tries again
 */
export class Changes extends TypedTarget<ConnectionEvents> implements AsyncIterable<Change> {
  /**
   * What to pass as `since` to go on after the changes that were taken so far, later or elsewhere; undefined before the
   * first page is complete.
   */
  next: string | undefined
  #state: 'idle' | 'connected' | 'disconnected' = 'idle'
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
    private readonly connection: Connection,
    private readonly members: ChangesBody,
    private readonly signal: AbortSignal | undefined,
  ) {
    super()
    this.next = members.since
  }

  /** Whether the last attempt brought something, and nothing has failed since. */
  get isConnected(): boolean {
    return this.#state === 'connected'
  }

  /**
   * Goes on until the signal is aborted, or the service refuses the request for good.
   *
   * @throws TopicdError, also for an answer that is not the service's; the signal's reason
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, undefined> {
    try {
      for (;;) {
        this.signal?.throwIfAborted()
        try {
          for await (const page of performance.now() < this.#pollsUntilMs ? this.#poll() : this.#stream()) {
            this.#failures = 0
            yield* page.changes
            this.next = page.next
            this.#hasAll = !page.has_more
            if (!this.#hasAll) continue
            this.#completeMs = Math.min(this.#completeMs, performance.now())
            yield { kind: 'complete' }
          }
        } catch (error) {
          if (this.signal?.aborted) throw error
          const waitMs = this.#waitAfter(error)
          if (waitMs > 0) this.#disconnect(error)
          if (isGone(error)) yield this.#restart()
          if (waitMs > 0) await wait(waitMs, this.signal)
        }
      }
    } finally {
      this.#state = 'idle'
    }
  }

  #connect(): void {
    if (this.isConnected) return
    this.#state = 'connected'
    this.dispatchEvent(new Event('connected'))
  }

  #disconnect(error: unknown): void {
    if (this.#state === 'disconnected') return
    this.#state = 'disconnected'
    const detail = { error: error instanceof ConnectionLost ? error.cause : error }
    this.dispatchEvent(new CustomEvent<Disconnection>('disconnected', { detail }))
  }

  #restart(): Change {
    this.next = undefined
    this.#hasAll = false
    this.#completeMs = Number.POSITIVE_INFINITY
    return { kind: 'restarted' }
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

  async *#poll(): AsyncGenerator<Page, void, undefined> {
    // The first one after an outage says at once that it is over.
    const waits = this.#hasAll && this.isConnected
    const members = { ...this.members, since: this.next, wait: waits ? pollSeconds : 0 }
    let text = ''
    const firstMsMax = waits ? pollMsMax : searchMsMax
    const late = silent(firstMsMax)
    for await (const piece of this.#pieces(members, 'application/json', firstMsMax, late)) text += piece
    yield readAnswer(text, pageOf)
  }

  async *#stream(): AsyncGenerator<Page, void, undefined> {
    const members = { ...this.members, since: this.next }
    const parser = new EventParser()
    for await (const piece of this.#pieces(members, eventStream, firstPieceMsMax, new HeldBack())) {
      for (const { event, data } of parser.push(piece)) {
        if (event === 'message') yield readAnswer(data, pageOf)
        if (event === 'end') throw endOf(data, parser.retryMs)
      }
    }
    throw new Ended('the stream has ended', parser.retryMs)
  }

  /**
   * The text of an answer, as it arrives.
   *
   * @throws `late` if its first piece takes longer than `firstMsMax`; ConnectionLost, also after a silence; HeldBack if it
   *   should be a stream and is not
   */
  async *#pieces(
    members: ChangesBody,
    accept: string,
    firstMsMax: number,
    late: Error,
  ): AsyncGenerator<string, void, undefined> {
    const attempt = new AbortController()
    const abort = () => attempt.abort(this.signal?.reason)
    this.signal?.addEventListener('abort', abort)
    const limit = new SilenceLimit((reason) => attempt.abort(reason))
    try {
      limit.restart(firstMsMax, late)
      const response = await this.connection.open('changes', members, accept, attempt.signal)
      const isStream = response.headers.get('content-type')?.startsWith(eventStream) === true
      const reader = response.body?.getReader()
      if (accept === eventStream && (reader === undefined || !isStream)) throw new HeldBack()
      if (reader === undefined) return
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await overNetwork(attempt.signal, () => reader.read())
        limit.restart(silenceMsMax, silent(silenceMsMax))
        if (!done) this.#connect()
        yield decoder.decode(value, { stream: !done })
        if (done) return
      }
    } finally {
      limit.stop()
      this.signal?.removeEventListener('abort', abort)
      attempt.abort()
    }
  }
}

/** Something on the way holds streams back. */
class HeldBack extends Error {}

/** A stream has ended, and can be taken up again. */
class Ended extends Error {
  /** How long to wait before that, in ms. */
  readonly waitMs: number

  /** @param retryMs how long at most, as the service has said; 0 for at once */
  constructor(message: string, retryMs: number = firstWaitMs) {
    super(message)
    this.waitMs = retryMs * Math.random()
  }
}

/** Why the service ended a stream. */
function endOf(data: string, retryMs: number | undefined): Error {
  const { code, message } = readAnswer(data, JSON.parse) as { readonly code: string; readonly message: string }
  if (code === 'unauthorized') return new TopicdError(401, code, message)
  if (code === 'since_gone' || code === 'access_changed') return new TopicdError(410, 'since_gone', message)
  // Streams rotate at different times, so those of many clients do not come back together.
  return new Ended(message, code === 'rotated' ? 0 : retryMs)
}

function isGone(error: unknown): boolean {
  return error instanceof TopicdError && error.code === 'since_gone'
}

/** Whether another attempt may succeed. A 200 that cannot be read is no passing state: another service answers there. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TopicdError)) return error instanceof ConnectionLost
  return error.status >= 429 || (error.code === 'unexpected_answer' && error.status !== 200)
}

function silent(ms: number): ConnectionLost {
  return new ConnectionLost(new Error(`no response within ${ms / 1000} s`))
}

/** @param failures how many came before this one */
function randomWaitMs(failures: number): number {
  return Math.min(waitMsMax, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2)
}

/** Calls back, with a reason, unless it is restarted or stopped in time. */
class SilenceLimit {
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly onSilence: (reason: Error) => void) {}

  restart(ms: number, reason: Error): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.onSilence(reason), ms)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
