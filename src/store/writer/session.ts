/**
 * The requests of one client of the writer, across connections and writers: numbered, kept until they are answered, sent again
 * to the next writer, and given up in the end. Pure: it is told what happens, and when, and says what follows; nothing is sent
 * or waited for here. The writer's side of the same protocol is receipts.ts.
 */
import { strict as assert } from 'node:assert'
import { commitDeadlineMs, writerClientGoneMs } from '../../settings/limits.js'
import { StoreError } from '../errors.js'

/** The wait for any answer before requests are given up: longer than a writer may hang, so the next can answer. */
const writerAnswerMsMax = commitDeadlineMs + 2000

assert(writerClientGoneMs > writerAnswerMsMax)

/** Writers that a request may outlive before its outcome is reported as unknown: it may be what they die of. */
export const writerSendsMax = 3

/** Between two checks for requests that nobody answers. */
export const lateCheckMs = 500

/** A check this late means that this process was suspended or starved. */
const suspendedMsMin = 2 * lateCheckMs

export interface Pending<Caller> {
  readonly number: number
  readonly sinceMs: number
  readonly caller: Caller
  /** Its bytes in `frame`. */
  readonly start: number
  readonly end: number
  /** Undefined until its frame is ended. */
  frame: Buffer | undefined
  /** How often it was sent over a connection that the writer ended, perhaps because of it; or is, over the present one. */
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
  /** The writer has said what it knows of this end, so requests can be sent. */
  #isGreeted = false
  #hasEndedConnection = false
  /** As the writer last said. */
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

  /** The number of the last request of which it and all before it are answered, of those before `next`. */
  answeredBelow(next: number): number {
    const [oldest = next] = this.#pending.keys()
    return oldest - 1
  }

  /** Adds a request, whose bytes are from `start` to `end` of a frame that is still growing. */
  add(caller: Caller, start: number, end: number, nowMs: number): Pending<Caller> {
    const number = ++this.#lastNumber
    if (this.isIdle) this.#progressAtMs = nowMs
    const pending = { number, sinceMs: nowMs, caller, start, end, frame: undefined, sends: 0 }
    this.#pending.set(number, pending)
    return pending
  }

  /** The frame of these requests has ended. @returns whether it is sent now */
  endFrame(requests: readonly Pending<Caller>[], frame: Buffer): boolean {
    for (const pending of requests) {
      pending.frame = frame
      if (this.#isGreeted) pending.sends++
    }
    return this.#isGreeted
  }

  /** The connection has ended, or there is none yet. */
  disconnected(): void {
    this.#isGreeted = false
  }

  /** This end is about to end the connection, since something could not be read. */
  endsConnection(): void {
    this.#hasEndedConnection = true
  }

  /**
   * A writer has answered the greeting, and its outcomes that may not have arrived were taken before.
   *
   * Every request that it has not taken is sent again, each in a frame of its own. Any of them may be what a writer dies of;
   * none is why this end ended the connection, or why a writer did that has refused one since.
   *
   * @param lastTaken the number of the last request that it has taken; 0 for a writer that has taken none
   */
  greeted(
    lastTaken: number,
    nowMs: number,
  ): {
    readonly again: readonly Pending<Caller>[]
    readonly givenUp: readonly GivenUp<Caller>[]
  } {
    const areSuspect = !this.#hasEndedConnection && lastTaken <= this.#lastTaken
    // From a writer that has replaced another, an answer may be expected.
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

  /** An outcome has come. @returns its request; undefined if it was given up, or the outcome came before */
  answered(number: number, nowMs: number): Pending<Caller> | undefined {
    this.#progressAtMs = nowMs
    const pending = this.#pending.get(number)
    this.#pending.delete(number)
    return pending
  }

  /**
   * Gives up the requests that have waited long while no writer has answered any; to be called each `lateCheckMs`. After a
   * suspension, answers may be in the socket that were not read, so the wait begins anew.
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
