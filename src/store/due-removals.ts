/** Removal by policy: the effect of one sweep on due topics. The caller decides which process sweeps, and when. */
import type { Plan } from '../selectors/plan.js'
import type { Path } from '../topics/path.js'
import type { UnreadableTopic } from './errors.js'

/** Compiles the selector of a remove clause, or returns its fault: a store knows plans, not selectors. */
export type PlanOf = (selector: string) => Plan | { readonly problem: string }

/** A due remove clause that removed nothing because its selector is rejected today. Its policy has ended. */
export interface RefusedClause {
  readonly path: Path
  /** The selector's fault, as the end of a sentence. */
  readonly problem: string
}

export interface DueRemovals {
  readonly removed: number
  readonly refused: readonly RefusedClause[]
  /** Topics that were left unchanged. Each sweep reports them again, up to a limit. */
  readonly unreadable: readonly UnreadableTopic[]
  /** The next due time, as Unix time in ms: 0 while remove clauses wait, undefined if none is known. */
  readonly nextMs: number | undefined
}

export const nothingRemoved: DueRemovals = { removed: 0, refused: [], unreadable: [], nextMs: undefined }

export interface DueRemover {
  /**
   * Removes the topics that are due now. One process must call this repeatedly; several do no harm. Due remove clauses continue in
   * the background, and a later call returns their results.
   *
   * @param planOf called once for each clause that is executed, perhaps after this call has returned
   */
  removeDue(planOf: PlanOf): Promise<DueRemovals>
}
