/**
 * A batcher gathers the requests of many callers into one statement. Requests that arrive in one turn of the event loop
 * are sent together at its end. While `inFlightMax` batches are in flight, new requests are gathered for the next one.
 * So a lone request does not wait, and under load more requests share a round trip and a commit.
 *
 * A statement touches a key once. Requests for one key that one change satisfies are grouped in arrival order; others
 * wait for a later batch. What a batch does is given by `execute`; no SQL lives here.
 */
import { StoreError } from '../../errors.js'

/** A request about one key. */
export interface Request {
  /** Names the key: requests with the same id are about the same key. */
  readonly id: string
  /** What it adds to the statement, in bytes. */
  readonly bytes: number
  /** When it was made, in ms of performance.now(). */
  readonly sinceMs: number
  reject(reason: unknown): void
}

/** Requests about one key, at least one, that one change satisfies. */
export type RequestGroup<R extends Request> = readonly [R, ...R[]]

/**
 * Has a request of a batch tried again in a later one, before those that have arrived since, whatever becomes of the batch.
 *
 * @param instead is tried in its place
 */
export type PutBack<R extends Request> = (request: R, instead?: R) => void

interface BatcherOptions<R extends Request> {
  /** Whether a request can be answered together with an earlier one about the same key. */
  readonly canShare: (earlier: R, later: R) => boolean
  /**
   * Executes a batch of at most `groupsMax` groups, and resolves every request in it that it does not put back. If it fails,
   * the requests that it has neither resolved nor put back are rejected: the failure is not that of a request that goes on.
   */
  readonly execute: (groups: readonly RequestGroup<R>[], putBack: PutBack<R>) => Promise<void>
  readonly inFlightMax: number
  readonly groupsMax: number
  /** In ms: a request that has waited longer than this when its batch is sent is rejected. No bound by default. */
  readonly waitMsMax?: number
}

/** A batch with more bytes than this takes no further group: it is sent in one piece, and kept until it is answered. */
const bytesMax = 4 * 1024 * 1024

export class Batcher<R extends Request> {
  readonly #canShare: BatcherOptions<R>['canShare']
  readonly #execute: BatcherOptions<R>['execute']
  readonly #inFlightMax: number
  readonly #groupsMax: number
  readonly #waitMsMax: number | undefined
  /** The next batch, by id, in arrival order. */
  #gathered = new Map<string, [R, ...R[]]>()
  #gatheredBytes = 0
  /** Requests that the next batch has no room for, in arrival order. */
  #later: R[] = []
  #inFlight = 0
  #scheduled = false
  #onDrained: (() => void)[] = []

  constructor({ canShare, execute, inFlightMax, groupsMax, waitMsMax }: BatcherOptions<R>) {
    this.#canShare = canShare
    this.#execute = execute
    this.#inFlightMax = inFlightMax
    this.#groupsMax = groupsMax
    this.#waitMsMax = waitMsMax
  }

  /** Adds a request; `execute` resolves it, or it is rejected. */
  add(request: R): void {
    this.#gather(request)
    this.#schedule()
  }

  /** Resolves once no request is gathered or in flight. */
  drained(): Promise<void> {
    if (this.#inFlight === 0 && !this.#scheduled) return Promise.resolve()
    return new Promise((resolve) => this.#onDrained.push(resolve))
  }

  /** Adds a request to the next batch, or to those that wait for a later one. */
  #gather(request: R): void {
    const group = this.#gathered.get(request.id)
    if (group !== undefined && this.#canShare(group[0], request)) group.push(request)
    else if (group !== undefined || this.#gathered.size === this.#groupsMax || this.#gatheredBytes > bytesMax)
      this.#later.push(request)
    else {
      this.#gathered.set(request.id, [request])
      this.#gatheredBytes += request.bytes
    }
  }

  #gatherAhead(requests: Iterable<R>): void {
    const others = this.#takeAll()
    for (const request of requests) this.#gather(request)
    for (const request of others) this.#gather(request)
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight === this.#inFlightMax || this.#gathered.size === 0) return
    this.#scheduled = true
    setImmediate(() => this.#send())
  }

  /** Sends what was gathered as one statement. */
  #send(): void {
    this.#scheduled = false
    this.#rejectLate()
    const groups = [...this.#gathered.values()]
    const waiting = this.#later
    this.#clear()
    for (const request of waiting) this.#gather(request)
    if (groups.length === 0) return this.#resolveDrained()
    this.#inFlight++
    const again = new Map<R, R>()
    void this.#execute(groups, (request, instead = request) => again.set(request, instead))
      .catch((reason: unknown) => {
        for (const group of groups) for (const request of group) if (!again.has(request)) request.reject(reason)
      })
      .finally(() => {
        this.#inFlight--
        if (again.size > 0) this.#gatherAhead(again.values())
        this.#schedule()
        this.#resolveDrained()
      })
    this.#schedule()
  }

  /** Rejects the requests that have waited too long. */
  #rejectLate(): void {
    const waitMsMax = this.#waitMsMax
    if (waitMsMax === undefined) return
    const oldestMs = performance.now() - waitMsMax
    if (![...this.#gathered.values()].some((group) => group.some(({ sinceMs }) => sinceMs < oldestMs))) return
    for (const request of this.#takeAll()) {
      if (request.sinceMs >= oldestMs) this.#gather(request)
      else {
        const message = `the PostgreSQL server was busy with other requests for ${waitMsMax / 1000} s`
        request.reject(new StoreError('unavailable', message))
      }
    }
  }

  /** Takes every request that is not in flight, in arrival order for each key. */
  #takeAll(): R[] {
    const requests = [...this.#gathered.values()].flat().concat(this.#later)
    this.#clear()
    return requests
  }

  #clear(): void {
    this.#gathered = new Map()
    this.#gatheredBytes = 0
    this.#later = []
  }

  #resolveDrained(): void {
    if (this.#inFlight > 0 || this.#scheduled) return
    for (const resolve of this.#onDrained) resolve()
    this.#onDrained = []
  }
}
