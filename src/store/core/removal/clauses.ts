/**
 * The remove clauses of policies that are due, executed one after the other in the background: a clause may scan the
 * whole tree, and topics whose policies have no clause must not wait for that. The store keeps waiting clauses apart
 * from other due entries, so that a sweep does not visit them. This file ensures only that one pass over them runs at a
 * time, and gathers what comes of it and of sweeps. A clause that was not finished, for whatever reason, keeps waiting, and
 * a later pass tries it again.
 */

import { type Cancellation, Cancelled } from '../../../base/cancellation.js'
import { waitForSlice } from '../../../base/time-slices.js'
import type { Plan } from '../../../selectors/plan.js'
import type { Path } from '../../../topics/path.js'
import type { DueRemovals, PlanOf, RefusedClause } from '../../due-removals.js'
import { UnreadableTopic } from '../../unreadable-topic.js'

/** Removes what a due clause matches; resolves to how many topics those were, or to why the clause was refused. */
export async function removeByClause(
  path: Path,
  selector: string,
  planOf: PlanOf,
  removeMatches: (plan: Plan) => Promise<number>,
): Promise<number | RefusedClause> {
  // Planning can exceed a slice; the pause after it is as long.
  await waitForSlice()
  const plan = planOf(selector)
  return 'problem' in plan ? { path, problem: plan.problem } : removeMatches(plan)
}

/** Unreadable topics that are reported at once: each sweep meets the same ones. */
const unreadableMax = 1000

export class Clauses<Clause> {
  readonly #closing = new AbortController()
  #pass: Promise<void> | undefined
  #removed = 0
  #refused: RefusedClause[] = []
  /** By their paths. */
  readonly #unreadable = new Map<Path, UnreadableTopic>()
  #failure: { readonly error: unknown } | undefined

  /**
   * @param waiting the waiting clauses, each once, in batches
   * @param execute resolves with the number of topics that the clause removed, or with why it was refused; a rejection
   *   with `Cancelled` ends the pass, one with `UnreadableTopic` is no failure
   */
  constructor(
    private readonly waiting: () => AsyncIterable<readonly Clause[]>,
    private readonly execute: (
      clause: Clause,
      planOf: PlanOf,
      cancellation: Cancellation,
    ) => Promise<number | RefusedClause>,
  ) {}

  /** Begins a pass over all waiting clauses, unless one is running. */
  start(planOf: PlanOf): void {
    if (this.#closing.signal.aborted) return
    this.#pass ??= this.#executeAll(planOf)
      .catch(this.#fail)
      .finally(() => (this.#pass = undefined))
  }

  /** Counts topics that were removed without a clause, to be reported with the others. */
  addRemoved(topics: number): void {
    this.#removed += topics
  }

  /** Notes a topic that was left as it is, to be reported with the others. */
  readonly addUnreadable = (topic: UnreadableTopic): void => {
    if (this.#unreadable.size < unreadableMax) this.#unreadable.set(topic.path, topic)
  }

  /**
   * What was removed, which clauses were refused, and what could not be read, since the last call that returned.
   *
   * @throws the first error of a pass since then
   */
  takeOutcome(): Pick<DueRemovals, 'removed' | 'refused' | 'unreadable'> {
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

  /** Cancels the clause that is being executed; resolves once no pass is running. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pass
  }

  async #executeAll(planOf: PlanOf): Promise<void> {
    const { signal } = this.#closing
    for await (const clauses of this.waiting()) {
      for (const clause of clauses) {
        if (signal.aborted) return
        try {
          const executed = await this.execute(clause, planOf, signal)
          if (typeof executed === 'number') this.#removed += executed
          else this.#refused.push(executed)
        } catch (error) {
          if (error instanceof Cancelled) return
          if (error instanceof UnreadableTopic) this.addUnreadable(error)
          else this.#fail(error)
        }
      }
    }
  }

  readonly #fail = (error: unknown): void => {
    this.#failure ??= { error }
  }
}
