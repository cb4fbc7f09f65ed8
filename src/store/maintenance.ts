/** Operations on a whole store at an operator's request: checking and copying it. For measurements, see monitoring.ts. */
import type { Cancellation } from '../base/cancellation.js'
import type { PlanOf } from './due-removals.js'

/** A broken invariant, in one sentence that names the record. */
export type Finding = string

export interface BackupDone {
  readonly records: number
  readonly bytes: number
  /** The reason why the backup's time could not be recorded (the backup is fine); undefined if it was recorded. */
  readonly unnoted?: string
}

export interface StoreChecker {
  /**
   * Walks the whole store. Reports each broken invariant, and each remove clause that could not be executed.
   *
   * @throws Cancelled once `cancellation` is set; StoreError if the engine is lost
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
   * Copies the whole store consistently to a file that must not exist yet. The file gets its name only after the copy was checked.
   * Absent if the engine has its own tools for this.
   *
   * @param freeBytesMin the space that must stay free on the file's disk
   * @throws Cancelled once `cancellation` is set; otherwise an Error with a message for users. In both cases there is no file, but
   *   the engine may keep copying until the process exits
   */
  backup?(
    file: string,
    freeBytesMin: number,
    onProgress: (step: string, done: number, total: number) => void,
    cancellation: Cancellation,
  ): Promise<BackupDone>
}
