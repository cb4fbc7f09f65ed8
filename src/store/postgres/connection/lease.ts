/**
 * The lease on evaluating removals: a row with its holder and its expiry, by the engine's clock, so that only one process across
 * all hosts works at a time. It is taken and renewed by compare-and-set. If its holder dies, another process takes the lease after
 * it has expired. If a lease expires later than any new one would, the engine's clock has stepped back, or a failover has led to a
 * slower clock: any process may then take it.
 */
import { randomUUID } from 'node:crypto'
import type { Cancellation } from '../../../base/cancellation.js'
import { clockMs, inTime, type Statement, startMs } from '../sql/statement.js'
import type { Connections } from './connections.js'

/**
 * The duration of the lease, in ms: together with the second between another process's attempts, it is well below the 5 s within
 * which a due removal is promised.
 */
const leaseMs = 3000

/** Interval between renewals, in ms. */
const renewMs = 1000

/**
 * `clockMs`, not the earlier `startMs`, decides whether the lease is too long: another process may have taken it while this
 * statement waited for the row. Compared with an earlier time, such a lease would seem too long.
 */
const takeLease: Statement<{ expires: string }> = {
  name: 'take_lease',
  text: `
    update topicd.leases set holder = $1, expires = ${startMs} + $2::bigint
    where name = 'removals' and (holder = $1 or expires <= ${startMs} or expires > ${clockMs} + $2::bigint) and ${inTime(3)}
    returning expires`,
}

const endLease: Statement<never> = {
  name: 'end_lease',
  text: `update topicd.leases set expires = 0 where name = 'removals' and holder = $1 and ${inTime(2)}`,
}

/** A period in which the lease is held without a gap. It is over permanently once `aborted` is set. */
interface LeaseTerm extends Cancellation {
  /** The end of the lease, in ms of performance.now(); 0 once the term is over. */
  untilMs(): number
}

export class Lease {
  /** The name of this process in the lease's row. */
  readonly holder = randomUUID()
  #heldUntil = 0
  /** The number of times that the lease was taken while it was not held. */
  #terms = 0

  constructor(private readonly write: Connections['write']) {}

  /**
   * Runs `work` if this process holds the lease or can take it, and renews the lease during the work.
   *
   * @param work must stop once its term is over: another process may have the lease
   * @returns undefined if another process holds it
   */
  async whileHeld<T>(work: (term: LeaseTerm) => Promise<T>): Promise<T | undefined> {
    await this.#take()
    if (!this.#isHeld()) return undefined
    const renewal = setInterval(() => void this.#take().catch(() => {}), renewMs)
    const number = this.#terms
    const untilMs = (): number => (this.#terms === number && this.#isHeld() ? this.#heldUntil : 0)
    const term = {
      untilMs,
      get aborted() {
        return untilMs() === 0
      },
    }
    try {
      return await work(term)
    } finally {
      clearInterval(renewal)
    }
  }

  /** Lets another process take the lease immediately. */
  async end(): Promise<void> {
    if (!this.#isHeld()) return
    this.#heldUntil = 0
    await this.write(endLease, [this.holder])
  }

  #isHeld(): boolean {
    return performance.now() < this.#heldUntil
  }

  /** Takes or renews the lease. The local clock only measures its age, counted from before the request. */
  async #take(): Promise<void> {
    const requestedMs = performance.now()
    const granted = await this.write(takeLease, [this.holder, leaseMs])
    if (!this.#isHeld()) this.#terms++
    this.#heldUntil = granted.length === 0 ? 0 : requestedMs + leaseMs
  }
}
