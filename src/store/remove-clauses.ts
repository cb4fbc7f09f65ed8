/**
 * The remove clauses of policies that are due, carried out one after the other beside everything else: a clause may scan
 * the whole tree, and the topics that are due by themselves wait for none. The store keeps the clauses that wait apart
 * from what falls due, so that no look at that ever meets them. Here is only that one pass over them runs at a time; a
 * clause that is not finished, for whatever reason, still waits, and a later pass comes to it again.
 */
import { type Cancellation, Cancelled } from './store.js'

/**
 * The due time under which the store keeps a topic whose clause waits, in ms since the epoch: earlier than any policy can
 * be due. To a version that knows nothing of this the topic is merely long due.
 */
export const clauseWaitsMs = 0

export interface Clauses {
  /** Has every clause that waits carried out, unless that is going on already. */
  start(): void
  /**
   * How many topics were removed since it was last asked.
   *
   * @throws what a clause failed of since then
   */
  takeRemoved(): number
  /** Cancels the one that is being carried out; resolves once nothing is going on. */
  close(): Promise<void>
}

/**
 * @param waiting the clauses that wait, each once
 * @param execute answers how many topics the clause removed; a rejection with `Cancelled` ends the pass
 */
export function createClauses<Clause>(
  waiting: () => AsyncIterable<Clause>,
  execute: (clause: Clause, cancellation: Cancellation) => Promise<number>,
): Clauses {
  const cancellation = { cancelled: false }
  let pass: Promise<void> | undefined
  let removed = 0
  let failure: { readonly error: unknown } | undefined

  function fail(error: unknown): void {
    failure ??= { error }
  }

  async function executeAll(): Promise<void> {
    for await (const clause of waiting()) {
      if (cancellation.cancelled) return
      try {
        removed += await execute(clause, cancellation)
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
    takeRemoved() {
      if (failure !== undefined) {
        const { error } = failure
        failure = undefined
        throw error
      }
      const taken = removed
      removed = 0
      return taken
    },
    async close() {
      cancellation.cancelled = true
      await pass
    },
  }
}
