/**
 * The remove clauses of policies that are due, carried out one after the other beside everything else: a clause may scan the
 * whole tree, and the topics that are due by themselves wait for none. What is kept here is only which clauses wait; a clause that is not
 * finished, for whatever reason, is still due, and the next look brings it again.
 */
import { type Cancellation, Cancelled } from './store.js'

/** Clauses that wait; more of them are left to later looks. */
const waitingMax = 10_000

export interface Clauses {
  /**
   * Has a clause carried out when its turn comes, unless it waits already or is being carried out.
   *
   * @param id names the clause
   * @param execute answers how many topics it removed; it stops at its next step when it is cancelled, by a rejection
   */
  add(id: string, execute: (cancellation: Cancellation) => Promise<number>): void
  /** Whether the clause waits or is being carried out. */
  has(id: string): boolean
  /**
   * How many topics were removed since it was last asked.
   *
   * @throws what a clause failed of since then
   */
  takeRemoved(): number
  /** Cancels the one that is being carried out, and forgets the others; resolves once nothing is going on. */
  close(): Promise<void>
}

export function createClauses(): Clauses {
  const waiting = new Map<string, (cancellation: Cancellation) => Promise<number>>()
  const cancellation = { cancelled: false }
  let executing: Promise<void> | undefined
  let removed = 0
  let failure: { readonly error: unknown } | undefined

  async function executeAll(): Promise<void> {
    for (const [id, execute] of waiting) {
      if (cancellation.cancelled) break
      try {
        removed += await execute(cancellation)
      } catch (error) {
        if (!(error instanceof Cancelled)) failure ??= { error }
      }
      waiting.delete(id)
    }
    waiting.clear()
    executing = undefined
  }

  return {
    add(id, execute) {
      if (cancellation.cancelled || waiting.has(id) || waiting.size >= waitingMax) return
      waiting.set(id, execute)
      executing ??= executeAll()
    },
    has: (id) => waiting.has(id),
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
      await executing
    },
  }
}
