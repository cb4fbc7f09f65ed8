/**
 * The requests of one client of the writer, across connections and writers: numbered, kept until they are answered, sent again to
 * the next writer, and finally abandoned. Pure: it receives events and their times, and returns the next steps; it sends nothing
 * and waits for nothing. receipts.ts is the writer's side of the protocol.
 */
import { strict as assert } from 'node:assert'
import { commitDeadlineMs, writerClientGoneMs } from '../../settings/limits.js'
import { StoreError } from '../errors.js'

/** The wait for any outcome before requests are abandoned: longer than a writer may hang, so that the next one can answer. */
const writerAnswerMsMax = commitDeadlineMs + 2000

assert(writerClientGoneMs > writerAnswerMsMax)

/**
 * The number of writers that may die with a request in flight before its outcome is reported as unknown: the request may be killing
 * them.
 */
export const writerSendsMax = 3

/** Interval between checks for requests that no writer answers. */
export const lateCheckMs = 500

/** A check this late means that this process was suspended or starved. */
const suspendedMsMin = 2 * lateCheckMs

export interface Pending<Caller> {
  readonly number: number
  readonly sinceMs: number
  readonly caller: Caller
  /** The start of its bytes in `frame`. */
  readonly start: number
  readonly end: number
  /** Undefined until its frame is complete. */
  frame: Buffer | undefined
  /** The number of its sends over the present connection and those that the writer closed, perhaps because of this request. */
  sends: number
}

export interface GivenUp<Caller> {
  readonly pending: Pending<Caller>
  readonly reason: StoreError
}

export class Session<Caller> {
  /** In the order of their numbers. */
  readonly #pending = new Map<number, Pending<Caller>>()
  #lastNumber = 0
  /** The writer has reported the state of this client, so requests can be sent. */
  #isGreeted = false
  #hasEndedConnection = false
  /** As the writer last reported. */
  #lastTaken = 0
  #progressAtMs: number
  #checkedAtMs: number

  constructor(nowMs: number) {
    this.#progressAtMs = nowMs
    this.#checkedAtMs = nowMs
  }

  get lastNumber(): number {
    return this.#lastNumber
  }

  get isIdle(): boolean {
    return this.#pending.size === 0
  }

  /** The highest number, below `next`, up to which all requests are answered. */
  answeredBelow(next: number): number {
    const [oldest = next] = this.#pending.keys()
    return oldest - 1
  }

  /** Adds a request: the bytes from `start` to `end` of a frame that is still growing. */
  add(caller: Caller, start: number, end: number, nowMs: number): Pending<Caller> {
    const number = ++this.#lastNumber
    if (this.isIdle) this.#progressAtMs = nowMs
    const pending = { number, sinceMs: nowMs, caller, start, end, frame: undefined, sends: 0 }
    this.#pending.set(number, pending)
    return pending
  }

  /** The frame of these requests is complete. @returns whether it is sent now */
  endFrame(requests: readonly Pending<Caller>[], frame: Buffer): boolean {
    for (const pending of requests) {
      pending.frame = frame
      if (this.#isGreeted) pending.sends++
    }
    return this.#isGreeted
  }

  /** The connection has closed, or is not open yet. */
  disconnected(): void {
    this.#isGreeted = false
  }

  /** This end is about to close the connection, because something could not be read. */
  endsConnection(): void {
    this.#hasEndedConnection = true
  }

  /**
   * A writer has answered the greeting; the outcomes in its response, which might not have arrived earlier, have already been
   * processed.
   *
   * The requests that it has not accepted are sent again, each in its own frame. Any of them may kill a writer. None is suspect if
   * this end closed the connection, or if the writer closed it after rejecting a request: then `lastTaken` has grown.
   *
   * @param lastTaken the number of the last request that it has accepted; 0 without such a request
   */
  greeted(
    lastTaken: number,
    nowMs: number,
  ): {
    readonly again: readonly Pending<Caller>[]
    readonly givenUp: readonly GivenUp<Caller>[]
  } {
    const areSuspect = !this.#hasEndedConnection && lastTaken <= this.#lastTaken
    // A writer that has replaced another may still answer.
    if (lastTaken === 0) this.#progressAtMs = nowMs
    this.#isGreeted = true
    this.#hasEndedConnection = false
    this.#lastTaken = lastTaken
    const again: Pending<Caller>[] = []
    const givenUp: GivenUp<Caller>[] = []
    for (const pending of this.#pending.values()) {
      if (pending.number <= lastTaken || pending.frame === undefined) continue
      const reason = this.#reasonToGiveUp(pending, areSuspect, nowMs)
      if (reason !== undefined) givenUp.push({ pending, reason })
      else {
        if (areSuspect || pending.sends === 0) pending.sends++
        again.push(pending)
      }
    }
    for (const { pending } of givenUp) this.#pending.delete(pending.number)
    return { again, givenUp }
  }

  /** An outcome has arrived. @returns its request; undefined if the request was abandoned, or the outcome had already arrived */
  answered(number: number, nowMs: number): Pending<Caller> | undefined {
    this.#progressAtMs = nowMs
    const pending = this.#pending.get(number)
    this.#pending.delete(number)
    return pending
  }

  /**
   * Abandons requests that have waited for a long time while no writer has answered any; call every `lateCheckMs`. After a
   * suspension the socket may hold unread outcomes, so the wait restarts.
   */
  giveUpLate(nowMs: number): readonly GivenUp<Caller>[] {
    if (nowMs - this.#checkedAtMs > suspendedMsMin) this.#progressAtMs = nowMs
    this.#checkedAtMs = nowMs
    const lateMs = nowMs - writerAnswerMsMax
    if (this.#progressAtMs > lateMs) return []
    // The frame of this turn may still be sent.
    return this.#giveUp(
      ({ sinceMs, frame }) => sinceMs <= lateMs && frame !== undefined,
      `no writer responded within ${writerAnswerMsMax} ms`,
    )
  }

  /** No writer will ever answer. */
  giveUpAll(reason: string): readonly GivenUp<Caller>[] {
    return this.#giveUp(() => true, reason)
  }

  #giveUp(isLost: (pending: Pending<Caller>) => boolean, reason: string): readonly GivenUp<Caller>[] {
    const lost = [...this.#pending.values()].filter(isLost)
    for (const { number } of lost) this.#pending.delete(number)
    return lost.map((pending) => ({ pending, reason: unanswered(pending, reason) }))
  }

  #reasonToGiveUp(pending: Pending<Caller>, isSuspect: boolean, nowMs: number): StoreError | undefined {
    const { sends, sinceMs } = pending
    if (sends > 0 && nowMs - sinceMs > writerClientGoneMs)
      return unanswered(pending, 'the writer may have forgotten its outcome')
    if (isSuspect && sends >= writerSendsMax)
      return new StoreError('unknown_outcome', `${sends} writers died before they responded`)
    return undefined
  }
}

function unanswered({ sends }: Pending<unknown>, reason: string): StoreError {
  return new StoreError(sends > 0 ? 'unknown_outcome' : 'unavailable', reason)
}
