/**
 * The statistics of the writer, read when the primary requests them: plain data that a message can carry.
 * writer-metrics.ts turns them into metrics.
 */
import type { LmdbWriter } from '../../store/lmdb/open.js'
import {
  type CommitCounts,
  type ProcessStats,
  readCommits,
  readProcess,
  type Sweeps,
  type UnreadableCounts,
} from './worker-stats.js'

/** Members are added, never changed: during a rolling restart the reader may be older than the writer. */
export interface WriterStats extends ProcessStats {
  readonly commits: CommitCounts | undefined
  /** Frames that workers and tools have sent. */
  readonly frames: number
  /** Topics removed by their policies. */
  readonly expired: number
  /** Undefined in a writer of an earlier version. */
  readonly unreadable?: UnreadableCounts
  readonly diskFreeBytes: number
  /** With less free space, writes that add bytes are refused. */
  readonly diskFreeBytesMin: number
}

export function readWriterStats({ store, frames }: LmdbWriter, { removed, unreadable }: Sweeps): WriterStats {
  return {
    ...readProcess(),
    commits: readCommits(store),
    frames: frames(),
    expired: removed,
    unreadable: { topics: unreadable, keys: 0 },
    diskFreeBytes: store.disk?.freeBytes() ?? 0,
    diskFreeBytesMin: store.disk?.freeBytesMin ?? 0,
  }
}
