/**
 * Automatic removal: executes REMOVAL policies that are due. Entries in `due` sort by the time at which their topic is
 * due if no further update comes. An update leaves the entry unchanged; when its time comes, the entry is examined
 * again, and moved if the topic is not due yet. So updates cost nothing here, and while nothing is due, one read of the
 * first entry is all the work there is.
 *
 * The entry of a policy with a `remove` clause is only moved to a time before all others, where it waits for its turn
 * (store/shared/remove-clauses.ts), and is examined once more when its turn comes. Its clause removes the matches first and
 * ends the policy afterwards: a crash in between repeats the removal. Such a policy is executed once.
 *
 * When the wall clock has stepped against the monotonic one, every entry is examined again, and only then is the new
 * offset stored: if the process ends in between, the next one examines them all.
 */

import type { Cancellation } from '../../../base/cancellation.js'
import type { Clock } from '../../../base/clock.js'
import { type DueRemovals, nothingRemoved, type PlanOf, type RefusedClause } from '../../due-removals.js'
import { Clauses, clauseWaitsMs, removeByClause } from '../../shared/remove-clauses.js'
import type { TopicRemover } from '../../topics.js'
import type { Environment, Table } from '../environment/environment.js'
import type { Snapshots } from '../view/read-freshness.js'
import type { Commits } from '../write/commits.js'
import { DueEntries, type Entry } from './due-entries.js'

/** A wall clock that moved by more than this against the monotonic one has stepped; less is ordinary slewing. */
const stepMs = 1000

/** In `meta`: a `KnownClock`. */
const clockName = 'clock'

/** The wall clock's offset to the monotonic one when a process last compared them, and the boot in which it did. */
interface KnownClock {
  readonly offset: number
  readonly boot: string
}

export class Expiry {
  readonly #meta: Table
  readonly #entries: DueEntries
  readonly #clauses: Clauses<Entry>
  /** Each resolves when a sweep has ended, even if it failed. */
  readonly #sweeps = new Set<Promise<void>>()
  #closed = false

  constructor(
    environment: Environment,
    private readonly snapshots: Snapshots,
    private readonly commits: Commits,
    private readonly removeMatches: TopicRemover['removeMatches'],
    private readonly now: Clock,
  ) {
    this.#meta = environment.meta
    this.#entries = new DueEntries(environment, snapshots, commits, now)
    this.#clauses = new Clauses(
      () => this.#entries.between(clauseWaitsMs, clauseWaitsMs),
      (entry, planOf, cancellation) => this.#executeClause(entry, planOf, cancellation),
    )
  }

  /**
   * Resolves once every topic that is due and has no clause is removed. What comes of clauses is reported by a
   * later call.
   */
  removeDue(planOf: PlanOf): Promise<DueRemovals> {
    const sweep = this.#sweep(planOf).catch((error: unknown) => {
      if (this.#closed) return nothingRemoved
      throw error
    })
    const ended = sweep.then(
      () => {},
      () => {},
    )
    this.#sweeps.add(ended)
    void ended.then(() => this.#sweeps.delete(ended))
    return sweep
  }

  /** Stops sweeps and clauses at their next step, and resolves once they have stopped. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#clauses.close(), ...this.#sweeps])
  }

  async #sweep(planOf: PlanOf): Promise<DueRemovals> {
    const present = this.now()
    const known = this.#knownClock()
    const offset = present.wallMs - present.steadyMs
    const stepped = known?.boot === present.boot && !(Math.abs(known.offset - offset) <= stepMs)
    await this.#settleAll(stepped ? Number.MAX_SAFE_INTEGER : present.wallMs)
    if ((stepped || known?.boot !== present.boot) && !this.#closed)
      await this.#storeClock({ offset, boot: present.boot })
    const nextMs = this.#closed ? undefined : this.#entries.firstDueMs()
    if (nextMs === clauseWaitsMs) this.#clauses.start(planOf)
    return { ...this.#clauses.takeOutcome(), nextMs }
  }

  /** The clock as a process last compared it; undefined in a new store. One that cannot be read has stepped, perhaps. */
  #knownClock(): KnownClock | undefined {
    const record = this.snapshots.alone(() => this.#meta.get(clockName))
    if (record === undefined) return undefined
    try {
      const { offset, boot } = JSON.parse(record.toString()) as KnownClock
      return { offset, boot }
    } catch {
      return { offset: NaN, boot: this.now().boot }
    }
  }

  async #storeClock(clock: KnownClock): Promise<void> {
    const record = Buffer.from(JSON.stringify(clock))
    await this.commits.run((changes) => changes.write(() => this.#meta.putSync(clockName, record)))
  }

  /** Settles every entry whose time is at most `untilMs`. */
  async #settleAll(untilMs: number): Promise<void> {
    for await (const entries of this.#entries.between(clauseWaitsMs + 1, untilMs)) {
      if (entries.length > 0) this.#clauses.addRemoved(await this.#entries.settle(entries, this.#clauses.addUnreadable))
      if (this.#closed) break
    }
  }

  /**
   * Executes a clause, unless its topic was updated while it waited. A clause that was executed completely ends its
   * policy, even if it was cancelled or its topic updated meanwhile.
   */
  async #executeClause(entry: Entry, planOf: PlanOf, cancellation: Cancellation): Promise<number | RefusedClause> {
    const { path, isDue, clauseSelector } = this.#entries.examine(entry) ?? {}
    if (path === undefined || isDue !== true || clauseSelector === undefined) {
      return this.#entries.settle([entry], this.#clauses.addUnreadable)
    }
    const executed = await removeByClause(path, clauseSelector, planOf, (plan) =>
      this.removeMatches(plan, cancellation),
    )
    await this.#entries.endPolicy(entry)
    return executed
  }
}
