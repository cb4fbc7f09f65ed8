/**
 * The remove clauses of policies that are due, executed one after the other in the background: a clause may scan the
 * whole tree, and topics whose policies have no clause must not wait for that. The store keeps waiting clauses apart
 * from other due entries, so that a sweep does not visit them. This file ensures only that one pass over them runs at a
 * time. A clause that was not finished, for whatever reason, keeps waiting, and a later pass tries it again.
 */
import { type Cancellation, Cancelled } from './cancellation.js'
import type { RefusedClause } from './due-removals.js'

/**
 * The due time that the store gives a topic whose clause waits, in ms since the epoch: earlier than any policy can be
 * due. A version without waiting clauses takes such a topic for one that is long overdue.
 */
export const clauseWaitsMs = 0

/** What came of clauses. */
interface Outcome {
  readonly removed: number
  readonly refused: readonly RefusedClause[]
}

export interface Clauses {
  /** Begins a pass over all waiting clauses, unless one is running. */
  start(): void
  /**
   * What came of the clauses since the last call.
   *
   * @throws the first error of a pass since then
   */
  takeOutcome(): Outcome
  /** Cancels the clause that is being executed; resolves once no pass is running. */
  close(): Promise<void>
}

/**
 * @param waiting the waiting clauses, each once
 * @param execute resolves with the number of topics that the clause removed, or with why it was refused; a rejection with
 *   `Cancelled` ends the pass
 */
export function createClauses<Clause>(
  waiting: () => AsyncIterable<Clause>,
  execute: (clause: Clause, cancellation: Cancellation) => Promise<number | RefusedClause>,
): Clauses {
  const cancellation = { cancelled: false }
  let pass: Promise<void> | undefined
  let removed = 0
  let refused: RefusedClause[] = []
  let failure: { readonly error: unknown } | undefined

  function fail(error: unknown): void {
    failure ??= { error }
  }

  async function executeAll(): Promise<void> {
    for await (const clause of waiting()) {
      if (cancellation.cancelled) return
      try {
        const executed = await execute(clause, cancellation)
        if (typeof executed === 'number') removed += executed
        else refused.push(executed)
      } catch (error) {
        if (error instanceof Cancelled) return
        fail(error)
      }
    }
  }

  return {
    start() {
      if (cancellation.cancelled) return
      pass ??= executeAll()
        .catch(fail)
        .finally(() => (pass = undefined))
    },
    takeOutcome() {
      if (failure !== undefined) {
        const { error } = failure
        failure = undefined
        throw error
      }
      const taken = { removed, refused }
      removed = 0
      refused = []
      return taken
    },
    async close() {
      cancellation.cancelled = true
      await pass
    },
  }
}
