/**
 * A batcher combines requests from many callers into one statement. Requests that arrive in one turn of the event loop are sent
 * together at its end. While `inFlightMax` batches are in flight, new requests are collected for the next one. So a lone request
 * does not wait, and under load, more requests share a round trip.
 *
 * A statement reads a key once, for all requests about it. `execute` defines the work of a batch; there is no SQL here.
 */
import { beforeNextPoll } from '../../../base/after-poll.js'

export interface Request {
  /** Names the key: requests with the same id are about the same key. */
  readonly id: unknown
  /** The bytes that the request adds to the statement. */
  readonly bytes: number
  reject(reason: unknown): void
}

/** One or more requests about the same key. */
export type RequestGroup<R extends Request> = readonly [R, ...R[]]

/** Retries a request, or `instead`, in a later batch, ahead of later arrivals and regardless of the outcome of this batch. */
export type PutBack<R extends Request> = (request: R, instead?: R) => void

/** A batch with more bytes than this takes no further group: it is sent in one piece, and kept until it is answered. */
const bytesMax = 4 * 1024 * 1024

export class Batcher<R extends Request> {
  /** In arrival order, after requests that were put back. */
  #waiting: R[] = []
  #inFlight = 0
  #isScheduled = false
  readonly #onIdle: (() => void)[] = []

  /**
   * @param execute executes a batch of at most `groupsMax` groups, and resolves every request that it does not put back. If it
   *   fails, the requests that are neither resolved nor put back are rejected
   */
  constructor(
    private readonly execute: (groups: readonly RequestGroup<R>[], putBack: PutBack<R>) => Promise<void>,
    private readonly inFlightMax: number,
    private readonly groupsMax: number,
  ) {}

  /** Adds a request; `execute` resolves it, or it is rejected. */
  add(request: R): void {
    this.#waiting.push(request)
    this.#schedule()
  }

  /** Resolves once nothing waits or is in flight. */
  async drained(): Promise<void> {
    while (this.#inFlight + this.#waiting.length > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight === this.inFlightMax || this.#waiting.length === 0) return
    this.#isScheduled = true
    beforeNextPoll(() => void this.#send())
  }

  async #send(): Promise<void> {
    this.#isScheduled = false
    const groups = this.#take()
    const again = new Map<R, R>()
    this.#inFlight++
    this.#schedule()
    try {
      await this.execute(groups, (request, instead = request) => again.set(request, instead))
    } catch (reason) {
      for (const group of groups) for (const request of group) if (!again.has(request)) request.reject(reason)
    }
    this.#inFlight--
    if (again.size > 0) this.#waiting = [...again.values(), ...this.#waiting]
    this.#schedule()
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Takes the next batch: once it is full, only requests for a key already in it are added. */
  #take(): RequestGroup<R>[] {
    const groups = new Map<unknown, [R, ...R[]]>()
    const later: R[] = []
    let bytes = 0
    for (const request of this.#waiting) {
      const group = groups.get(request.id)
      if (group !== undefined) group.push(request)
      else if (groups.size === this.groupsMax || bytes > bytesMax) later.push(request)
      else {
        groups.set(request.id, [request])
        bytes += request.bytes
      }
    }
    this.#waiting = later
    return [...groups.values()]
  }
}
