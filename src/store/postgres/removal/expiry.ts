/**
 * Automatic removal: executes REMOVAL policies that are due, by the engine's clock, on the one process that holds the
 * lease. A topic's `due` is the earliest time at which its policy may be due. An update leaves it unchanged; when the
 * time comes, the topic is evaluated again, and rescheduled if it is not due yet. So updates cost nothing here, and
 * while nothing is due, one lookup in an index is all the work there is.
 *
 * A topic is removed on condition that it was neither replaced nor updated since it was evaluated, so an update that
 * comes first always keeps it. A topic whose policy has a `remove` clause is only rescheduled to a time before all
 * others, where it waits for its turn (store/core/removal/clauses.ts), and is evaluated once more when its turn comes. Its
 * clause removes the matches first and ends the policy afterwards: a crash in between repeats the removal. Such a
 * policy is executed once.
 */

import { anyOf, type Cancellation, Cancelled } from '../../../base/cancellation.js'
import type { Plan } from '../../../selectors/plan.js'
import { decodeKey } from '../../../topics/key.js'
import { Clauses, removeByClause } from '../../core/removal/clauses.js'
import { clauseWaitsMs } from '../../core/write/due.js'
import type { DueRemovals, PlanOf, RefusedClause } from '../../due-removals.js'
import type { Connections } from '../connection/connections.js'
import { isHeldBy, type Lease } from '../connection/lease.js'
import { matchingTopics } from '../read/match-scan.js'
import { bytesArray, plainArray } from '../sql/arrays.js'
import { loggedParts } from '../sql/logged-statement.js'
import { type Execute, inTime, nextVersion, type Statement, sameKey } from '../sql/statement.js'
import { dueTopics, type Evaluated, readDueAgain, removeDue, reschedule, waitingTopics } from './due-topics.js'

const readNextDue: Statement<{ next: string | null }> = {
  name: 'read_next_due',
  text: 'select due as next from topicd.topics where due is not null order by due limit 1',
}

/**
 * Removes the topics that a clause matched, only while this process holds the lease: a statement that was delayed must
 * not remove what was created after another process had executed the clause.
 */
const removeForClause = loggedParts<{ held: string; removed: string }>('remove_for_clause', {
  ctes: `
    lease as materialized (select ${isHeldBy(3)} as held), changed as (
      delete from topicd.topics t
      using unnest($1::bytea[], $2::bigint[]) as v (key, generation)
      where ${sameKey} and t.generation = v.generation and (select held from lease) and ${inTime(4)}
      returning t.key, ${nextVersion} as version
    )`,
  parameters: 4,
  select: 'select held::text, (select count(*) from changed) as removed from lease',
})

/**
 * Ends a policy whose clause was executed, only while this process holds the lease: otherwise another may be executing
 * it.
 */
const endPolicy: Statement<{ key: string }> = {
  name: 'end_policy',
  text: `
    update topicd.topics set due = null
    where key = $1::bytea and generation = $2::bigint and ${isHeldBy(3)} and ${inTime(4)} returning key`,
}

export class Expiry {
  readonly #read: Execute
  readonly #write: Connections['write']
  readonly #writeLogged: Connections['writeLogged']
  readonly #clauses: Clauses<Evaluated>

  /** @param scan for the statements of scans */
  constructor(
    { read, write, writeLogged }: Pick<Connections, 'read' | 'write' | 'writeLogged'>,
    private readonly scan: Execute,
    private readonly lease: Lease,
  ) {
    this.#read = read
    this.#write = write
    this.#writeLogged = writeLogged
    this.#clauses = new Clauses(
      () => waitingTopics(this.#read, this.#clauses.addUnreadable),
      (clause: Evaluated, planOf, cancellation) => this.#executeClause(clause, planOf, cancellation),
    )
  }

  /**
   * Resolves once every topic that is due and has no clause is removed. What comes of clauses is reported by a
   * later call.
   */
  async removeDue(planOf: PlanOf): Promise<DueRemovals> {
    const evaluated = await this.lease.whileHeld((lost) => this.#evaluateAll(lost))
    this.#clauses.addRemoved(evaluated ?? 0)
    const [first] = await this.#read(readNextDue, [])
    const nextMs = first?.next == null ? undefined : Number(first.next)
    if (evaluated !== undefined && nextMs !== undefined && nextMs <= clauseWaitsMs) this.#clauses.start(planOf)
    return { ...this.#clauses.takeOutcome(), nextMs }
  }

  /** Cancels the clause that is being executed, and resolves once it has stopped. */
  close(): Promise<void> {
    return this.#clauses.close()
  }

  /** Evaluates every topic whose `due` has come; returns how many were removed. */
  async #evaluateAll(lost: Cancellation): Promise<number> {
    let removed = 0
    for await (const batch of dueTopics(this.#read, this.#clauses.addUnreadable)) {
      const topics = batch.sort((a, b) => Buffer.compare(a.key, b.key))
      removed += await removeDue(
        this.#writeLogged,
        topics.filter(({ isDue, clauseSelector }) => isDue && clauseSelector === undefined),
      )
      const left = topics.filter(({ isDue, clauseSelector }) => !isDue || clauseSelector !== undefined)
      await reschedule(
        this.#write,
        left.map((topic) => (topic.isDue ? { ...topic, dueMs: clauseWaitsMs } : topic)),
      )
      if (lost.aborted) break
    }
    return removed
  }

  /** Executes a clause, unless its topic was updated, or the lease lost, while it waited for its turn. */
  async #executeClause(clause: Evaluated, planOf: PlanOf, cancellation: Cancellation): Promise<number | RefusedClause> {
    const executed = await this.lease.whileHeld(async (lost) => {
      const topic = await readDueAgain(this.#read, clause)
      if (topic === undefined) return 0
      if (!topic.isDue || topic.clauseSelector === undefined) {
        await reschedule(this.#write, [topic])
        return 0
      }
      const outcome = await removeByClause(decodeKey(topic.key), topic.clauseSelector, planOf, (plan) =>
        this.#removeMatches(plan, anyOf(cancellation, lost)),
      )
      // A clause that was executed completely ends, even if cancelled; without the lease another process may be
      // executing it.
      if (lost.aborted) throw new Cancelled()
      await this.#write(endPolicy, [topic.key, topic.generation, this.lease.holder])
      return outcome
    })
    if (executed === undefined) throw new Cancelled()
    return executed
  }

  async #removeMatches(plan: Plan, cancellation: Cancellation): Promise<number> {
    let removed = 0
    for await (const topics of matchingTopics(this.scan, plan, cancellation)) {
      if (topics.length === 0) continue
      const [row] = await this.#writeLogged(removeForClause, [
        bytesArray(topics.map(({ key }) => key)),
        plainArray(topics.map(({ generation }) => generation)),
        this.lease.holder,
      ])
      if (row?.held !== 'true') throw new Cancelled()
      removed += Number(row.removed)
    }
    return removed
  }
}
