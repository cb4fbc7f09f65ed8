/**
 * Automatic removal: carrying out REMOVAL policies that are due. Entries in `due` sort by the time at which their topic
 * is due if no further update comes; an update leaves the entry where it is, and when its time comes the entry is examined
 * again and moved if the topic is not due yet. So updates cost nothing here, and while nothing is due, reading the first
 * entry is all the work there is.
 *
 * The entry of a policy with a `remove` clause is only moved ahead of all times, where it waits for its turn
 * (store/remove-clauses.ts), and is examined once more when that comes. Its clause removes the matches first and ends the
 * policy afterwards: a crash in between repeats the removal. Such a policy is carried out once.
 *
 * When the wall clock is seen to have stepped against the monotonic one, every entry is examined again.
 */
import { planSelector } from '../../selectors/planner.js'
import type { Clock, Moment } from '../clock.js'
import { type Clauses, clauseWaitsMs, createClauses } from '../remove-clauses.js'
import type { Cancellation, DueRemovals, TopicStore } from '../store.js'
import type { Commits } from './commits.js'
import { DueEntries, type Entry } from './due-entries.js'
import type { Environment, Table } from './environment.js'
import type { Snapshots } from './fresh-snapshots.js'
import { dueMsOfKey } from './specification.js'

/** A wall clock that moved by more than this against the monotonic one has stepped; less is ordinary slewing. */
const stepMs = 1000

/** In `meta`: the wall clock's offset to the monotonic one, when any process of this boot last compared them. */
const clockName = 'clock'

export class Expiry {
  readonly #meta: Table
  readonly #snapshots: Snapshots
  readonly #commits: Commits
  readonly #removeMatches: TopicStore['removeMatches']
  readonly #now: Clock
  readonly #entries: DueEntries
  readonly #clauses: Clauses
  /** Each resolves when a sweep has ended, however it did. */
  readonly #sweeps = new Set<Promise<void>>()
  #unreported = 0
  #closed = false

  constructor(
    environment: Environment,
    snapshots: Snapshots,
    commits: Commits,
    removeMatches: TopicStore['removeMatches'],
    now: Clock,
  ) {
    this.#meta = environment.meta
    this.#snapshots = snapshots
    this.#commits = commits
    this.#removeMatches = removeMatches
    this.#now = now
    this.#entries = new DueEntries(environment, snapshots, commits, now)
    this.#clauses = createClauses(
      () => this.#waitingClauses(),
      (entry, cancellation) => this.#executeClause(entry, cancellation),
    )
  }

  /** Resolves once every topic that is due by itself is gone; what clauses remove is counted when they are done. */
  removeDue(): Promise<DueRemovals> {
    const sweep = this.#sweep().catch((error: unknown) => {
      if (this.#closed) return { removed: 0, nextMs: undefined }
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

  /** Stops what is in progress at its next step, and resolves once it has. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#clauses.close(), ...this.#sweeps])
  }

  async #sweep(): Promise<DueRemovals> {
    const present = this.#now()
    const untilMs = (await this.#stepped(present)) ? Number.MAX_SAFE_INTEGER : present.wallMs
    this.#unreported += await this.#settleAll(untilMs)
    const nextMs = this.#closed ? undefined : this.#entries.firstDueMs()
    if (nextMs === clauseWaitsMs) this.#clauses.start()
    this.#unreported += this.#clauses.takeRemoved()
    const removed = this.#unreported
    this.#unreported = 0
    return { removed, nextMs }
  }

  /** Whether the wall clock stepped since any process of this boot last compared it with the monotonic one. */
  async #stepped(present: Moment): Promise<boolean> {
    const offset = present.wallMs - present.steadyMs
    const record = this.#snapshots.alone(() => this.#meta.get(clockName))
    const known = record && (JSON.parse(record.toString()) as { offset: number; boot: string })
    if (known?.boot === present.boot && Math.abs(known.offset - offset) <= stepMs) return false
    const next = Buffer.from(JSON.stringify({ offset, boot: present.boot }))
    await this.#commits.run(true, () => this.#meta.put(clockName, next))
    return known?.boot === present.boot
  }

  /** Settles every entry whose time is at most `untilMs`; answers how many topics were removed. */
  async #settleAll(untilMs: number): Promise<number> {
    let removed = 0
    for await (const entries of this.#entries.between(clauseWaitsMs + 1, untilMs)) {
      const counts = await Promise.all(entries.map((entry) => this.#settle(entry)))
      for (const count of counts) removed += count
      if (this.#closed) break
    }
    return removed
  }

  /** Removes the entry's topic if it is due by itself; otherwise moves the entry to where it belongs. */
  async #settle(entry: Entry): Promise<number> {
    const evaluated = await this.#entries.examine(entry)
    if (evaluated === undefined) return 0
    if (evaluated.isDue && evaluated.removes === undefined) return (await this.#entries.removeTopic(evaluated)) ? 1 : 0
    const atMs = evaluated.isDue ? clauseWaitsMs : evaluated.dueMs
    if (Math.floor(atMs) !== dueMsOfKey(entry.key)) await this.#entries.reschedule(evaluated, atMs)
    return 0
  }

  async *#waitingClauses(): AsyncGenerator<Entry> {
    for await (const entries of this.#entries.between(clauseWaitsMs, clauseWaitsMs)) yield* entries
  }

  /**
   * Its topic may have been updated while the clause waited. A clause that was executed completely ends its policy, even
   * when it was cancelled meanwhile.
   */
  async #executeClause(entry: Entry, cancellation: Cancellation): Promise<number> {
    const evaluated = await this.#entries.examine(entry)
    if (evaluated === undefined) return 0
    if (!evaluated.isDue || evaluated.removes === undefined) {
      await this.#entries.reschedule(evaluated, evaluated.dueMs)
      return 0
    }
    const plan = planSelector(evaluated.removes)
    const removed = 'problem' in plan ? 0 : await this.#removeMatches(plan, cancellation)
    await this.#entries.reschedule(evaluated, undefined)
    return removed
  }
}
