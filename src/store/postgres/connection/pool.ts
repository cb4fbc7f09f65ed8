/**
 * The sessions of one process for one purpose: a bounded number, opened on demand and assigned in the order of requests.
 * connections.ts executes statements on them and handles their failures.
 *
 * - A session with an abandoned statement counts until the engine has answered or its backend has finished: the backend may be
 *   waiting for an offline standby. New sessions in its place would use up the engine's slots. If a backend is idle, it has
 *   answered, and its response was lost.
 * - If the engine has no slot for another session, the open ones stay in use, and requests wait for them.
 * - While there is no session and the engine is unreachable, requests are rejected immediately, and attempts to open a session
 *   continue in the background.
 */

import { within } from '../../../base/within.js'
import { StoreError } from '../../errors.js'
import { type Engine, NoSlot } from './engine.js'
import type { Session, SessionLimits } from './session.js'

/** Maximum time that a request waits for a session, in ms: as long as opening one may take. */
const waitMsMax = 3000

/** Interval between attempts to reach an unreachable engine, in ms. */
const retryMs = 500

/** The time for which no further session is opened after the engine had no slot, in ms. */
const noSlotMs = 5000

/** Maximum time that closing waits for statements in flight, in ms: requests were drained earlier. */
const closeMsMax = 1000

/** Interval between checks of sessions with an abandoned statement, in ms. */
const givenUpMs = 1000

/** Sessions are closed after this idle time, in ms. */
const idleMsMax = 60_000

interface Waiter {
  readonly resolve: (session: Session) => void
  readonly reject: (error: StoreError) => void
  readonly timer: NodeJS.Timeout
}

export class Pool {
  readonly #idle: { readonly session: Session; readonly sinceMs: number }[] = []
  readonly #live = new Set<Session>()
  readonly #givenUp = new Set<Session>()
  readonly #waiters = new Set<Waiter>()
  readonly #trimming: NodeJS.Timeout
  #opening = 0
  #failure: StoreError | undefined
  #retry: NodeJS.Timeout | undefined
  #reaping: NodeJS.Timeout | undefined
  #fullUntilMs = 0
  #onEmpty: (() => void) | undefined
  #closed = false

  /**
   * @param sizeMax returns the current maximum number of sessions
   * @param workingOf of the given backends, returns those that are still executing a statement; for a pool that abandons statements
   */
  constructor(
    private readonly engine: Engine,
    private readonly sizeMax: () => number,
    private readonly limits: SessionLimits,
    private readonly workingOf: (backends: readonly number[]) => Promise<ReadonlySet<number>> = async (all) =>
      new Set(all),
  ) {
    engine.onSuccessor(() => this.#discardOld())
    engine.onReached(() => {
      if (this.#retry !== undefined) this.#retryNow()
    })
    this.#trimming = setInterval(() => this.#trim(), idleMsMax / 2).unref()
  }

  /** The reason if there is no usable session and none can be opened; otherwise undefined. */
  get failure(): StoreError | undefined {
    return this.#live.size > this.#givenUp.size ? undefined : this.#failure
  }

  /** Return the session with `release`, `giveUp` or `discard`. @throws StoreError `unavailable` if none is free in time */
  acquire(): Promise<Session> {
    if (this.#closed) return Promise.reject(new StoreError('unavailable', 'the store is closed'))
    const idle = this.#idle.pop()
    if (idle !== undefined) return Promise.resolve(idle.session)
    if (this.#failure !== undefined && this.#live.size === 0) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const reason = `all connections to the PostgreSQL server were in use for ${waitMsMax / 1000} s`
      const timer = setTimeout(() => this.#takeOut(waiter).reject(new StoreError('unavailable', reason)), waitMsMax)
      const waiter = { resolve, reject, timer }
      this.#waiters.add(waiter)
      this.#grow()
    })
  }

  /** Takes back a session that may be reused. */
  release(session: Session): void {
    if (!this.#live.has(session)) return
    if (this.#closed || !this.engine.isCurrent(session)) return this.discard(session)
    const [waiter] = this.#waiters
    if (waiter === undefined) this.#idle.push({ session, sinceMs: performance.now() })
    else this.#takeOut(waiter).resolve(session)
  }

  /** Takes back a session whose statement was not answered in time: it is reused once the statement is answered. */
  giveUp(session: Session): void {
    if (this.#closed) return this.discard(session)
    this.#givenUp.add(session)
    this.#reapLater()
    void session.answered().then(() => {
      if (this.#givenUp.delete(session)) this.release(session)
    })
  }

  discard(session: Session): void {
    session.destroy()
    this.#forget(session)
  }

  /** Closes every session: idle ones immediately, others when they are returned, or after `closeMsMax`. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#trimming)
    clearTimeout(this.#retry)
    clearTimeout(this.#reaping)
    this.#rejectWaiters(new StoreError('unavailable', 'the store is closed'))
    for (const { session } of this.#idle.splice(0)) this.discard(session)
    for (const session of this.#givenUp) this.discard(session)
    if (this.#live.size === 0) return
    const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve))
    await within(closeMsMax, empty)
    for (const session of this.#live) this.discard(session)
  }

  #reapLater(): void {
    this.#reaping ??= setTimeout(() => void this.#reap(), givenUpMs).unref()
  }

  /** Closes sessions whose response was lost: they would count until the system notices that the link is broken. */
  async #reap(): Promise<void> {
    const checked = [...this.#givenUp]
    try {
      const working = await this.workingOf(checked.map(({ backendId }) => backendId))
      // A session that was answered during the check may be in use again.
      for (const session of checked)
        if (this.#givenUp.has(session) && !working.has(session.backendId)) this.discard(session)
    } catch {
      // An unreachable engine may still execute statements of these sessions.
    }
    this.#reaping = undefined
    if (this.#givenUp.size > 0 && !this.#closed) this.#reapLater()
  }

  /** Opens a session for each waiting request, within the limit. */
  #grow(): void {
    const isFull = performance.now() < this.#fullUntilMs && this.#live.size > 0
    if (isFull || this.#retry !== undefined) return
    while (this.#opening < this.#waiters.size && this.#live.size + this.#opening < this.sizeMax()) void this.#open()
  }

  async #open(): Promise<void> {
    this.#opening++
    try {
      const session = await this.engine.open(this.limits)
      this.#failure = undefined
      this.#live.add(session)
      session.onEnd(() => this.#forget(session))
      this.release(session)
    } catch (error) {
      this.#onFailure(error as StoreError)
    } finally {
      this.#opening--
      this.#grow()
    }
  }

  #onFailure(error: StoreError): void {
    if (this.#closed) return
    // A slot may become free at any moment; an engine may be down for a long time.
    if (error instanceof NoSlot) {
      this.#failure = undefined
      if (this.#live.size > 0) {
        this.#fullUntilMs = performance.now() + noSlotMs
        return
      }
    } else {
      this.#failure = error
      if (this.#live.size === 0) this.#rejectWaiters(error)
    }
    this.#retry ??= setTimeout(() => this.#retryNow(), retryMs).unref()
  }

  #retryNow(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
    if (this.#closed) return
    const hasRoom = this.#live.size + this.#opening < this.sizeMax()
    if (this.#failure !== undefined && hasRoom) return void this.#open()
    this.#failure = undefined
    this.#grow()
  }

  #rejectWaiters(error: StoreError): void {
    for (const waiter of this.#waiters) this.#takeOut(waiter).reject(error)
  }

  #takeOut(waiter: Waiter): Waiter {
    clearTimeout(waiter.timer)
    this.#waiters.delete(waiter)
    return waiter
  }

  /** Removes a closed session. A request that was using it gets the statement's own failure. */
  #forget(session: Session): void {
    if (!this.#live.delete(session)) return
    this.#givenUp.delete(session)
    const index = this.#idle.findIndex((idle) => idle.session === session)
    if (index !== -1) this.#idle.splice(index, 1)
    if (this.#live.size === 0) this.#onEmpty?.()
    if (!this.#closed) this.#grow()
  }

  /** Closes idle sessions on former primaries. */
  #discardOld(): void {
    for (const { session } of [...this.#idle]) if (!this.engine.isCurrent(session)) this.discard(session)
  }

  /** Closes sessions that have been idle for too long. */
  #trim(): void {
    const since = performance.now() - idleMsMax
    for (const { session, sinceMs } of [...this.#idle]) if (sinceMs < since) this.discard(session)
  }
}
