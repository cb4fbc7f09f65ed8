/**
 * Everything that one worker can tell about itself, read when the primary asks: plain numbers, fit for a message.
 */
import { readdirSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { HistogramStats } from '../histogram.js'
import { descriptorsMax } from '../http/connections.js'
import type { StoreStats, TopicStore } from '../store/store.js'
import { logLinesDropped } from './log.js'
import type { RequestStats } from './request-stats.js'

/** Kinds are added, never changed: during a rolling restart the reader may be older than the worker. */
export interface WorkerStats extends RequestStats {
  readonly connections: number
  /** Requests that wait for their answer. */
  readonly waiting: number
  readonly commits: CommitCounts | undefined
  /** Topics removed by their policies. */
  readonly expired: number
  /** What is stored, if it was asked for. */
  readonly stored: StoreStats | undefined
  readonly diskFreeBytes: number
  /** The mark below which writes are refused; undefined where the disk is no concern of ours. */
  readonly diskFreeBytesMin?: number
  /** Connections at most. */
  readonly connectionsMax?: number
  /** Log lines that could not be written. */
  readonly logLinesDropped?: number
  readonly pid?: number
  readonly descriptors?: Descriptors
  /** How late timers were since the last reading, in seconds. */
  readonly loopDelay: { readonly median: number; readonly p99: number; readonly max: number }
  readonly cpuSeconds: { readonly user: number; readonly system: number }
  readonly residentBytes: number
  readonly heapBytes: number
}

/** File descriptors: how many are open, and how many may be; each undefined where the system does not tell. */
export interface Descriptors {
  readonly open?: number
  readonly max?: number
}

export interface CommitCounts {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  readonly seconds: HistogramStats
  readonly batches: HistogramStats
}

export function readCommits({ commits }: TopicStore): CommitCounts | undefined {
  if (commits === undefined) return undefined
  const { writes, failed, inFlight, seconds, batches } = commits
  return { writes, failed, inFlight, seconds: seconds.read(), batches: batches.read() }
}

/** How often the event loop's delay is sampled, in ms: each sample is a timer of its own. */
const samplesMs = 20

/** Starts to watch this process's event loop. */
export function watchLoop(): IntervalHistogram {
  const histogram = monitorEventLoopDelay({ resolution: samplesMs })
  histogram.enable()
  return histogram
}

/** The delays since the last reading; the histogram counts whole intervals, so the interval itself is taken off. */
export function readLoop(histogram: IntervalHistogram): WorkerStats['loopDelay'] {
  const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - samplesMs / 1000) || 0
  const delays = {
    median: seconds(histogram.percentile(50)),
    p99: seconds(histogram.percentile(99)),
    max: seconds(histogram.max),
  }
  histogram.reset()
  return delays
}

type ProcessFigures = 'pid' | 'cpuSeconds' | 'residentBytes' | 'heapBytes' | 'descriptors' | 'logLinesDropped'

/** What the process itself is, and uses. */
export function readProcess(): Required<Pick<WorkerStats, ProcessFigures>> {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    pid: process.pid,
    cpuSeconds: { user: user / 1e6, system: system / 1e6 },
    residentBytes: rss,
    heapBytes: heapUsed,
    descriptors: readDescriptors(),
    logLinesDropped: logLinesDropped(),
  }
}

function readDescriptors(): Descriptors {
  const max = descriptorsMax()
  return { open: countDescriptors(), max: Number.isFinite(max) ? max : undefined }
}

function countDescriptors(): number | undefined {
  try {
    // Listing them takes one for itself.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
