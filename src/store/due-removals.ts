/** Removal by policy: what one sweep does to the due topics. Who sweeps, and when, is decided by the caller. */
import type { Plan } from '../selectors/plan.js'
import type { Path } from '../topics/path.js'
import type { UnreadableTopic } from './errors.js'

/** Compiles the selector of a remove clause, or says what is wrong with it: a store knows plans, and no selectors. */
export type PlanOf = (selector: string) => Plan | { readonly problem: string }

/** A remove clause that was due and has ended its policy, but removed nothing: its selector is refused today. */
export interface RefusedClause {
  readonly path: Path
  /** The selector's fault, as the end of a sentence. */
  readonly problem: string
}

export interface DueRemovals {
  readonly removed: number
  readonly refused: readonly RefusedClause[]
  /** Topics that were left as they are, each with every sweep that meets it; of very many, some. */
  readonly unreadable: readonly UnreadableTopic[]
  /** When the next one is due, in ms since the epoch: 0 while remove clauses wait, undefined when none is known. */
  readonly nextMs: number | undefined
}

export const nothingRemoved: DueRemovals = { removed: 0, refused: [], unreadable: [], nextMs: undefined }

export interface DueRemover {
  /**
   * Removes what is due now. One process must call this again and again; more than one do no harm. Remove clauses that
   * are due continue in the background, and a later call says what came of them.
   *
   * @param planOf called once for each clause that is executed, perhaps after this call has returned
   */
  removeDue(planOf: PlanOf): Promise<DueRemovals>
}
