/**
 * Automatic removal: executes due REMOVAL policies. Entries in `due` sort by the time at which their topic is due if no further
 * update arrives. An update leaves the entry unchanged. At its time, the entry is examined again, and moved if the topic is not due
 * yet. So updates cost nothing here, and while no topic is due, the only work is one read of the first entry.
 *
 * For a policy with a `remove` clause, a sweep only moves the entry to the earliest possible time, which sweeps do not visit. Such
 * clauses are executed one at a time in the background, because a clause may scan the whole tree. Before a clause is executed, its
 * entry is examined once more. The matches are removed first, and the policy ends afterwards: a crash in between repeats the
 * removal. Such a policy does not recur. An unfinished clause keeps waiting, and a later pass retries it.
 *
 * If the wall clock has stepped against the monotonic one, a sweep examines all entries that it visits, whenever they are due, and
 * only then stores the new offset. If the process exits in between, the next process examines them again.
 */

import type { Awaitable } from '../../../base/awaitable.js'
import { anyOf, type Cancellation, Cancelled } from '../../../base/cancellation.js'
import type { Moment } from '../../../base/clock.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Path } from '../../../topics/path.js'
import { type DueRemovals, nothingRemoved, type PlanOf, type RefusedClause } from '../../due-removals.js'
import type { DuePlace, Engine, View } from '../../engine.js'
import { UnreadableTopic } from '../../errors.js'
import type { TopicRemover } from '../../topics.js'
import { type Evaluated, ownedBy } from '../due-time.js'
import { headAlone } from '../write/batch.js'
import { clauseWaitsMs, type DueOutcome } from '../write/due.js'
import type { Outcome, Request } from '../write/group.js'
import { clockName, type KnownClock } from '../write/records.js'

/** A wall clock that moved by more than this against the monotonic one has stepped; less is ordinary slewing. */
const stepMs = 1000

/** Places examined and settled per commit. */
const placesPerCommit = 200

/** Maximum unreadable topics per report: each sweep encounters the same ones. */
const unreadableMax = 1000

/** Runs `work` if this process evaluates removals, or can take over their evaluation. @returns undefined if another process leads */
export type Lead = <T>(work: (term: Term) => Promise<T>) => Promise<T | undefined>

/** A period in which this process leads without a gap. */
export interface Term {
  /** Set permanently once another process may lead; the work must then stop. */
  readonly lost: Cancellation
  /** Commits a request from the leader. Neither this nor `removeMatches` has an effect once another process may lead. */
  commit(request: Request): Promise<Outcome>
  readonly removeMatches: TopicRemover['removeMatches']
}

export class Expiry {
  readonly #closing = new AbortController()
  readonly #sweeps = new Set<Promise<DueRemovals>>()
  /** The execution of all waiting clauses; undefined if none runs. */
  #pass: Promise<void> | undefined
  /** Unreported results of clauses and sweeps. */
  #removed = 0
  #refused: RefusedClause[] = []
  readonly #unreadable = new Map<Path, UnreadableTopic>()
  #failure: { readonly error: unknown } | undefined
  /** True once a commit has encountered an unreadable topic. Every sweep finds that topic again, and must not commit only because of it. */
  #hasUnreadable = false

  constructor(
    private readonly engine: Pick<Engine, 'atOnce'>,
    private readonly lead: Lead,
    private readonly options: { readonly now: () => Awaitable<Moment>; readonly comparesClocks: boolean },
  ) {}

  /** Resolves once due topics without a clause are removed; a later call reports clauses, or throws their first error. */
  removeDue(planOf: PlanOf): Promise<DueRemovals> {
    const sweep = this.#sweep(planOf).catch((error: unknown) => {
      if (this.#isClosed) return nothingRemoved
      throw error
    })
    this.#sweeps.add(sweep)
    return sweep.finally(() => this.#sweeps.delete(sweep))
  }

  /** Stops sweeps and clauses at their next step, and resolves once they have stopped. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled([this.#pass, ...this.#sweeps])
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  async #sweep(planOf: PlanOf): Promise<DueRemovals> {
    const present = await this.options.now()
    const isLeading = await this.lead(async (term) => {
      if (this.options.comparesClocks) await this.#settleByClock(present, term)
      else await this.#settleAll(present.wallMs, term)
      return true
    })
    const readFirst = (view: View): Awaitable<readonly DuePlace[]> => view.due(0, Number.MAX_SAFE_INTEGER, undefined, 1)
    const [first] = this.#isClosed ? [] : await this.engine.atOnce(readFirst)
    const nextMs = first?.atMs
    if (nextMs === clauseWaitsMs && isLeading === true && !this.#isClosed) {
      this.#pass ??= this.#executeClauses(planOf)
        .catch(this.#fail)
        .finally(() => (this.#pass = undefined))
    }
    return { ...this.#takeOutcome(), nextMs }
  }

  #takeOutcome(): Pick<DueRemovals, 'removed' | 'refused' | 'unreadable'> {
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      throw error
    }
    const taken = { removed: this.#removed, refused: this.#refused, unreadable: [...this.#unreadable.values()] }
    this.#removed = 0
    this.#refused = []
    this.#unreadable.clear()
    return taken
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= { error }
  }

  #addUnreadable(topic: UnreadableTopic): void {
    if (this.#unreadable.size < unreadableMax) this.#unreadable.set(topic.path, topic)
  }

  /** Settles due places, or all places if the wall clock has stepped since a process last compared it. */
  async #settleByClock(present: Moment, term: Term): Promise<void> {
    const known = await this.#knownClock(present)
    const offset = present.wallMs - present.steadyMs
    const stepped = known?.boot === present.boot && !(Math.abs(known.offset - offset) <= stepMs)
    await this.#settleAll(stepped ? Number.MAX_SAFE_INTEGER : present.wallMs, term)
    if ((stepped || known?.boot !== present.boot) && !this.#isClosed) {
      await term.commit({ change: { about: 'noteClock', clock: { offset, boot: present.boot } } })
    }
  }

  /** The clock as a process last recorded it; undefined in a new store. An unreadable record counts as a step of the clock. */
  async #knownClock(present: Moment): Promise<KnownClock | undefined> {
    const record = await this.engine.atOnce((view) => view.record('meta', clockName))
    if (record === undefined) return undefined
    try {
      const { offset, boot } = JSON.parse(record.toString()) as KnownClock
      return { offset, boot }
    } catch {
      return { offset: NaN, boot: present.boot }
    }
  }

  /** The places with times from `fromMs` to `untilMs`, inclusive, in batches; other work runs in between. */
  async *#placesBetween(fromMs: number, untilMs: number): AsyncGenerator<readonly DuePlace[]> {
    let after: DuePlace | undefined
    for (;;) {
      const last = after
      const places = await this.engine.atOnce((view) => view.due(fromMs, untilMs, last, placesPerCommit))
      if (places.length > 0) yield places
      after = places.at(-1)
      if (places.length < placesPerCommit) return
      await waitForSlice()
    }
  }

  async #settleAll(untilMs: number, term: Term): Promise<void> {
    for await (const places of this.#placesBetween(clauseWaitsMs + 1, untilMs)) {
      const removed = await this.#settle(places, term)
      this.#removed += removed
      if (this.#isClosed || term.lost.aborted) break
    }
  }

  /** Removes due topics without a clause; every other place is moved to its next time. @returns the number of removed topics */
  async #settle(places: readonly DuePlace[], term: Term): Promise<number> {
    const readable = this.#hasUnreadable ? await this.#readableOf(places) : places
    if (readable.length === 0) return 0
    const { removed, unreadable } = (await term.commit({ due: readable, endsPolicies: false })) as DueOutcome
    if (unreadable.length > 0) this.#hasUnreadable = true
    for (const topic of unreadable) this.#addUnreadable(topic)
    return removed
  }

  /** Returns the readable places and notes the unreadable topics. */
  async #readableOf(places: readonly DuePlace[]): Promise<readonly DuePlace[]> {
    const readable: DuePlace[] = []
    const take = (place: DuePlace, evaluate: () => unknown): void => {
      try {
        evaluate()
        readable.push(place)
      } catch (error) {
        if (!(error instanceof UnreadableTopic)) throw error
        this.#addUnreadable(error)
      }
    }
    await this.#examine(places, take)
    return readable
  }

  /** Undefined if no topic owns the place. @throws UnreadableTopic */
  async #evaluated(place: DuePlace): Promise<Evaluated | undefined> {
    let evaluated: Evaluated | undefined
    await this.#examine([place], (_place, evaluate) => {
      evaluated = evaluate()
    })
    return evaluated
  }

  /** Calls `take` for each place, with a function that evaluates its stored topic. */
  async #examine(
    places: readonly DuePlace[],
    take: (place: DuePlace, evaluate: () => Evaluated | undefined) => void,
  ): Promise<void> {
    const owned = places.flatMap((place) => (place.path === undefined ? [] : [{ place, path: place.path }]))
    const paths = owned.map(({ path }) => path)
    const present = await this.options.now()
    let index = 0
    await this.engine.atOnce((view) =>
      view.topics(paths, undefined, headAlone, Number.POSITIVE_INFINITY, (_path, topic) => {
        const { place, path } = owned[index++] as (typeof owned)[number]
        take(place, () => topic && ownedBy(place, path, topic, present))
        return true
      }),
    )
  }

  async #executeClauses(planOf: PlanOf): Promise<void> {
    for await (const places of this.#placesBetween(clauseWaitsMs, clauseWaitsMs)) {
      for (const place of places) {
        if (this.#isClosed) return
        try {
          const executed = await this.lead((term) => this.#executeClause(place, planOf, term))
          if (executed === undefined) return
          if (typeof executed === 'number') this.#removed += executed
          else this.#refused.push(executed)
        } catch (error) {
          if (error instanceof Cancelled) return
          if (error instanceof UnreadableTopic) this.#addUnreadable(error)
          else this.#fail(error)
        }
      }
    }
  }

  /**
   * Executes a clause, unless its topic was updated while it waited. Once a clause has been executed completely, its policy ends,
   * even if the topic was updated or `close` was called in the meantime. If another process may lead, the policy stays.
   */
  async #executeClause(place: DuePlace, planOf: PlanOf, term: Term): Promise<number | RefusedClause> {
    const { path } = place
    const { isDue, selector } = (await this.#evaluated(place)) ?? {}
    if (path === undefined || isDue !== true || selector === undefined) return this.#settle([place], term)
    // Planning can exceed a slice; a pause of the same length then follows.
    await waitForSlice()
    const plan = planOf(selector)
    const executed =
      'problem' in plan
        ? { path, problem: plan.problem }
        : await term.removeMatches(plan, anyOf(this.#closing.signal, term.lost))
    // Another process may be executing the clause.
    if (term.lost.aborted) throw new Cancelled()
    await term.commit({ due: [place], endsPolicies: true })
    return executed
  }
}
