/**
 * Rounds: what many requests ask for, gathered into one statement. What is asked in a turn of the event loop goes out
 * together at its end; while as many rounds as are useful are under way, what comes in is gathered for the next one. So a
 * lone request waits for nobody, and the busier the service, the more requests share a round trip and a commit.
 *
 * A statement works on each key once. Asks for one key join where one change can stand for all of them, in the order in
 * which they came; those that cannot join wait for a later round.
 */
import { StoreError } from '../store.js'

/** Something asked for, about one key. */
export interface Request {
  /** Names the key: asks with the same name are about the same. */
  readonly id: string
  /** What it adds to the statement, in bytes. */
  readonly bytes: number
  /** When it was first asked for, in ms of performance.now(). */
  readonly sinceMs: number
  reject(reason: unknown): void
}

export interface BatcherOptions<A extends Request> {
  /** Whether an ask can be answered together with an earlier one about the same key. */
  readonly canShare: (earlier: A, later: A) => boolean
  /** Carries out a round, each group holding the asks about one key, and resolves every ask; the round is of `asksMax` groups at most. */
  readonly execute: (groups: readonly RequestGroup<A>[]) => Promise<void>
  readonly inFlightMax: number
  readonly groupsMax: number
  /** An ask that has waited for this long when its round goes out is refused, in ms; no bound unless told. */
  readonly waitMsMax?: number
}

/** Asks about one key, one at least, answered by one change. */
export type RequestGroup<A extends Request> = readonly [A, ...A[]]

export interface Batcher<A extends Request> {
  add(request: A): void
  /** Adds asks that a round has left over, ahead of those that came meanwhile. */
  addAhead(asks: readonly A[]): void
  /** Resolves once nothing is gathered or under way. */
  drained(): Promise<void>
}

/** A round ends here even if it has few asks: so much is sent in one piece, and kept until it is answered. */
const bytesMax = 4 * 1024 * 1024

export function createBatcher<A extends Request>({
  canShare,
  execute,
  inFlightMax,
  groupsMax,
  waitMsMax,
}: BatcherOptions<A>): Batcher<A> {
  let gathered = new Map<string, [A, ...A[]]>()
  let later: A[] = []
  let bytes = 0
  let inFlight = 0
  let scheduled = false
  let onSettled: (() => void)[] = []

  function gather(request: A): void {
    const group = gathered.get(request.id)
    if (group !== undefined && canShare(group[0], request)) group.push(request)
    else if (group !== undefined || gathered.size === groupsMax || bytes > bytesMax) later.push(request)
    else {
      gathered.set(request.id, [request])
      bytes += request.bytes
    }
  }

  function schedule(): void {
    if (scheduled || inFlight === inFlightMax || gathered.size === 0) return
    scheduled = true
    setImmediate(send)
  }

  /** Everything that is gathered, in order. */
  function take(): A[] {
    const asks = [...gathered.values()].flat()
    const waiting = later
    gathered = new Map()
    later = []
    bytes = 0
    return asks.concat(waiting)
  }

  /** Refuses what has waited for too long. */
  function refuseLate(): void {
    if (waitMsMax === undefined) return
    const oldestMs = performance.now() - waitMsMax
    if (![...gathered.values()].some((group) => group.some(({ sinceMs }) => sinceMs < oldestMs))) return
    for (const request of take()) {
      if (request.sinceMs >= oldestMs) gather(request)
      else request.reject(new StoreError('unavailable', `the engine was busy with others for ${waitMsMax / 1000} s`))
    }
  }

  function send(): void {
    scheduled = false
    refuseLate()
    const groups = [...gathered.values()]
    const waiting = later
    gathered = new Map()
    later = []
    bytes = 0
    for (const request of waiting) gather(request)
    if (groups.length === 0) return settle()
    inFlight++
    void execute(groups)
      .catch((reason: unknown) => {
        for (const group of groups) for (const request of group) request.reject(reason)
      })
      .finally(() => {
        inFlight--
        schedule()
        settle()
      })
    schedule()
  }

  function settle(): void {
    if (inFlight > 0 || scheduled) return
    for (const drained of onSettled) drained()
    onSettled = []
  }

  return {
    add(request) {
      gather(request)
      schedule()
    },
    addAhead(asks) {
      const others = take()
      for (const request of [...asks, ...others]) gather(request)
      schedule()
    },
    drained() {
      if (inFlight === 0 && !scheduled) return Promise.resolve()
      return new Promise((resolve) => onSettled.push(resolve))
    },
  }
}
