/** Measurements of a store in use. Nothing here changes it. */
import type { Awaitable } from '../base/awaitable.js'
import type { Histogram } from '../base/histogram.js'
import type { LogRange } from './changes.js'

export interface StoreStats {
  readonly topics: number
  /** Bytes occupied on disk, including free space within the files. */
  readonly bytes: number
  /** The time of the last complete backup, as Unix time in ms; undefined if there is no backup, or the engine creates none. */
  readonly backupMs?: number
  readonly log: LogRange
}

/**
 * The commits of this process since its start; counts are live. A batch counts as its number of operations. `writes` includes
 * failed ones; whether it includes those in flight depends on the engine.
 */
export interface CommitStats {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  /** The duration of each commit, from the start of its first write until it was durable. */
  readonly seconds: Histogram
  /** The number of writes in each commit. */
  readonly batches: Pick<Histogram, 'read'>
}

export const batchBounds: readonly number[] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]

interface StoreDisk {
  /** In bytes; 0 while it cannot be measured. */
  readonly freeBytes: () => number
  /** If less space is free, writes that add bytes are rejected. */
  readonly freeBytesMin: number
  readonly isNearlyFull: () => boolean
}

export interface StoreMonitor {
  stats(): Awaitable<StoreStats>
  /** Absent if another process writes the topics: that process reports a full disk. */
  readonly disk?: StoreDisk | undefined
  readonly commits?: CommitStats
}
