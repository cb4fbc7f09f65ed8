/**
 * The statistics of the writer, read when the primary requests them: plain data that a message can carry.
 * writer-metrics.ts turns them into metrics.
 */
import type { LmdbWriter } from '../../store/lmdb/open.js'
import { type CommitCounts, type ProcessStats, readCommits, readProcess } from './worker-stats.js'

/** Members are added, never changed: during a rolling restart the reader may be older than the writer. */
export interface WriterStats extends ProcessStats {
  readonly commits: CommitCounts | undefined
  /** Frames that workers and tools have sent. */
  readonly frames: number
  /** Topics removed by their policies. */
  readonly expired: number
  readonly diskFreeBytes: number
  /** With less free space, writes that add bytes are refused. */
  readonly diskFreeBytesMin: number
}

/** @param expired topics removed by their policies */
export function readWriterStats({ store, frames }: LmdbWriter, expired: number): WriterStats {
  return {
    ...readProcess(),
    commits: readCommits(store),
    frames: frames(),
    expired,
    diskFreeBytes: store.disk?.freeBytes() ?? 0,
    diskFreeBytesMin: store.disk?.freeBytesMin ?? 0,
  }
}
