/**
 * The statistics of one worker, read when the primary requests them: plain data that a message can carry.
 * worker-metrics.ts turns them into metrics.
 */
import { readdirSync } from 'node:fs'
import type { KeyRequests } from '../../auth/key-counts.js'
import type { Keyring } from '../../auth/keyring.js'
import type { HistogramStats } from '../../base/histogram.js'
import type { ChangesStats, LiveChanges } from '../../changes/live-changes.js'
import { connectionsAllowed, descriptorsMax } from '../../http/connections.js'
import type { HttpServer } from '../../http/server.js'
import type { UploadStats } from '../../http/uploads.js'
import { StoreError } from '../../store/errors.js'
import type { StoreMonitor, StoreStats } from '../../store/monitoring.js'
import { logLinesDropped } from '../log.js'
import type { LoopDelay } from '../loop-delay.js'
import type { RequestCounter, RequestStats } from './request-stats.js'

/** Members are added, never changed: during a rolling restart the reader may be older than the worker. */
export interface WorkerStats extends RequestStats {
  /** The answered requests of each API key. */
  readonly keyRequests?: KeyRequests
  readonly connections: number
  /** Requests without an answer yet. */
  readonly waiting: number
  readonly commits: CommitCounts | undefined
  /** Topics removed by their policies. */
  readonly expired: number
  /** Undefined in a worker of an earlier version. */
  readonly unreadable?: UnreadableCounts
  /** Undefined in a worker of an earlier version. */
  readonly changes?: ChangesStats
  readonly uploads?: UploadStats
  /** How many changes the log is to keep. */
  readonly changesKeptMin?: number
  /** The statistics of the store, if they were requested and it is available. */
  readonly stored: StoreStats | undefined
  /** The most connections that the worker accepts. */
  readonly connectionsMax?: number
  /** Log lines that could not be written. */
  readonly logLinesDropped?: number
  readonly pid?: number
  readonly descriptors?: Descriptors
  /** By how much timers were late in the last 15 s. */
  readonly loopDelay: LoopDelay
  readonly cpuSeconds: { readonly user: number; readonly system: number }
  readonly residentBytes: number
  readonly heapBytes: number
}

/** File descriptors: how many are open, and how many may be; undefined where the system does not say. */
interface Descriptors {
  readonly open?: number
  readonly max?: number
}

/** Stored records that cannot be read, and were skipped. */
export interface UnreadableCounts {
  readonly topics: number
  readonly keys: number
}

/** What removes due topics. */
export interface Sweeps {
  /** Topics removed by their policies. */
  readonly removed: number
  /** Topics whose policies cannot be read. */
  readonly unreadable: number
}

export interface CommitCounts {
  readonly writes: number
  readonly failed: number
  readonly inFlight: number
  readonly seconds: HistogramStats
  readonly batches: HistogramStats
}

/** Undefined where another process commits. */
export function readCommits({ commits }: StoreMonitor): CommitCounts | undefined {
  if (commits === undefined) return undefined
  const { writes, failed, inFlight, seconds, batches } = commits
  return { writes, failed, inFlight, seconds: seconds.read(), batches: batches.read() }
}

/** The parts of a worker whose statistics are read. */
interface StatsSources {
  readonly store: StoreMonitor
  readonly server: HttpServer
  readonly counter: RequestCounter
  readonly keyring: Pick<Keyring, 'requests' | 'unreadable'>
  readonly changes: Pick<LiveChanges, 'stats'>
  /** Undefined where the writer sweeps. */
  readonly sweeper: Sweeps | undefined
  readonly changesKeptMin: number
  readonly loopDelay: () => LoopDelay
}

/**
 * Reads all statistics.
 *
 * @param withStore whether those of the store are read too
 */
export async function readWorkerStats(
  { store, server, counter, keyring, changes, sweeper, changesKeptMin, loopDelay }: StatsSources,
  withStore: boolean,
): Promise<WorkerStats> {
  return {
    ...counter.read(),
    ...readProcess(),
    keyRequests: keyring.requests(),
    connections: server.connections(),
    waiting: server.waiting(),
    uploads: server.uploads(),
    commits: readCommits(store),
    expired: sweeper?.removed ?? 0,
    unreadable: { topics: sweeper?.unreadable ?? 0, keys: keyring.unreadable },
    changes: changes.stats(),
    changesKeptMin,
    stored: withStore ? await readStored(store) : undefined,
    connectionsMax: connectionsAllowed(),
    loopDelay: loopDelay(),
  }
}

/** Undefined while the store is unavailable; the other statistics are still sent. */
async function readStored(store: StoreMonitor): Promise<StoreStats | undefined> {
  try {
    return await store.stats()
  } catch (error) {
    if (error instanceof StoreError) return undefined
    throw error
  }
}

type ProcessMember = 'pid' | 'cpuSeconds' | 'residentBytes' | 'heapBytes' | 'descriptors' | 'logLinesDropped'

/** A process, and the resources that it uses. */
export type ProcessStats = Required<Pick<WorkerStats, ProcessMember>>

export function readProcess(): ProcessStats {
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
    // The listing itself uses one.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
