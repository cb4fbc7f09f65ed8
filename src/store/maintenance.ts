/** Work on a whole store that an operator asks for: checking and copying it. Measuring it is in monitoring.ts. */
import type { Cancellation } from '../base/cancellation.js'
import type { PlanOf } from './due-removals.js'

/** A broken invariant, in one sentence that names the record. */
export type Finding = string

export interface BackupDone {
  readonly records: number
  readonly bytes: number
  /** Why the time of the backup could not be stored, which does not affect the backup; undefined when it was. */
  readonly unnoted?: string
}

export interface StoreChecker {
  /**
   * Walks everything and reports each broken invariant, and each remove clause that could not be executed.
   *
   * @throws Cancelled once `cancellation` is set
   */
  check(
    report: (finding: Finding) => void,
    planOf: PlanOf,
    onProgress?: (done: number, total: number) => void,
    cancellation?: Cancellation,
  ): Promise<{ readonly records: number }>
}

export interface StoreCopier {
  /**
   * A consistent copy of everything in a file that must not exist yet; the file gets its name only after the copy was
   * checked. Absent if the engine has its own tools for this.
   *
   * @param freeBytesMin what must stay free on the file's disk
   * @throws Cancelled once `cancellation` is set; otherwise Error with a message for a person. There is no file then, but
   *   the engine may continue to copy until the process ends
   */
  backup?(
    file: string,
    freeBytesMin: number,
    onProgress: (step: string, done: number, total: number) => void,
    cancellation: Cancellation,
  ): Promise<BackupDone>
}
