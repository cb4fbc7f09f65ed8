/** What is measured of a store while it is in use. Nothing here changes it. */
import type { Awaitable } from '../base/awaitable.js'
import type { Histogram } from '../base/histogram.js'
import type { LogRange } from './changes.js'

export interface StoreStats {
  readonly topics: number
  /** Occupied on disk, free space within the files included. */
  readonly bytes: number
  /** When the last backup was completed, in ms since the epoch; undefined without one, or if the engine makes none. */
  readonly backupMs?: number
  /** Undefined while it has not been measured. */
  readonly log?: LogRange | undefined
}

/**
 * What this process has committed since its start; counts are live. A batch counts as all its operations. `writes`
 * includes those that failed; whether it includes those in flight depends on the engine.
 */
export interface CommitStats {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  /** How long each commit took, from the start of its first write until it was durable. */
  readonly seconds: Histogram
  /** How many writes each commit made durable. */
  readonly batches: Pick<Histogram, 'read'>
}

export const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

interface StoreDisk {
  /** In bytes; 0 while it cannot be measured. */
  readonly freeBytes: () => number
  /** With less free space than this, writes that add bytes are refused. */
  readonly freeBytesMin: number
  readonly isNearlyFull: () => boolean
}

export interface StoreMonitor {
  stats(): Awaitable<StoreStats>
  /** Absent where another process writes the topics, which reports by itself that its disk is full. */
  readonly disk?: StoreDisk | undefined
  readonly commits?: CommitStats
}
