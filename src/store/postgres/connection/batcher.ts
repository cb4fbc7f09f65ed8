/**
 * A batcher gathers the reads of many callers into one statement. Requests that arrive in one turn of the event loop
 * are sent together at its end. While `inFlightMax` batches are in flight, new requests are gathered for the next one.
 * So a lone request does not wait, and under load more requests share a round trip.
 *
 * A statement reads a key once, for all requests about it. What a batch does is given by `execute`; no SQL lives here.
 */

/** A request about one key. */
export interface Request {
  /** Names the key: requests with the same id are about the same key. */
  readonly id: string
  /** What it adds to the statement, in bytes. */
  readonly bytes: number
  reject(reason: unknown): void
}

/** Requests about one key, at least one. */
export type RequestGroup<R extends Request> = readonly [R, ...R[]]

/**
 * Has a request of a batch tried again in a later one, before those that have arrived since, whatever becomes of the batch.
 *
 * @param instead is tried in its place
 */
export type PutBack<R extends Request> = (request: R, instead?: R) => void

interface BatcherOptions<R extends Request> {
  /**
   * Executes a batch of at most `groupsMax` groups, and resolves every request in it that it does not put back. If it fails,
   * the requests that it has neither resolved nor put back are rejected: the failure is not that of a request that goes on.
   */
  readonly execute: (groups: readonly RequestGroup<R>[], putBack: PutBack<R>) => Promise<void>
  readonly inFlightMax: number
  readonly groupsMax: number
}

/** A batch with more bytes than this takes no further group: it is sent in one piece, and kept until it is answered. */
const bytesMax = 4 * 1024 * 1024

export class Batcher<R extends Request> {
  /** The next batch, by id, in arrival order. */
  #gathered = new Map<string, [R, ...R[]]>()
  #gatheredBytes = 0
  /** Requests that the next batch has no room for, in arrival order. */
  #later: R[] = []
  #inFlight = 0
  #scheduled = false

  constructor(private readonly options: BatcherOptions<R>) {}

  /** Adds a request; `execute` resolves it, or it is rejected. */
  add(request: R): void {
    this.#gather(request)
    this.#schedule()
  }

  /** Adds a request to the next batch, or to those that wait for a later one. */
  #gather(request: R): void {
    const group = this.#gathered.get(request.id)
    if (group !== undefined) group.push(request)
    else if (this.#gathered.size === this.options.groupsMax || this.#gatheredBytes > bytesMax) this.#later.push(request)
    else {
      this.#gathered.set(request.id, [request])
      this.#gatheredBytes += request.bytes
    }
  }

  #gatherAhead(requests: Iterable<R>): void {
    const others = [...this.#take().flat(), ...this.#later.splice(0)]
    for (const request of requests) this.#gather(request)
    for (const request of others) this.#gather(request)
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight === this.options.inFlightMax || this.#gathered.size === 0) return
    this.#scheduled = true
    setImmediate(() => this.#send())
  }

  /** Sends what was gathered as one statement. */
  #send(): void {
    this.#scheduled = false
    const groups = this.#take()
    for (const request of this.#later.splice(0)) this.#gather(request)
    this.#inFlight++
    const again = new Map<R, R>()
    void this.options
      .execute(groups, (request, instead = request) => again.set(request, instead))
      .catch((reason: unknown) => {
        for (const group of groups) for (const request of group) if (!again.has(request)) request.reject(reason)
      })
      .finally(() => {
        this.#inFlight--
        if (again.size > 0) this.#gatherAhead(again.values())
        this.#schedule()
      })
    this.#schedule()
  }

  #take(): [R, ...R[]][] {
    const groups = [...this.#gathered.values()]
    this.#gathered = new Map()
    this.#gatheredBytes = 0
    return groups
  }
}
