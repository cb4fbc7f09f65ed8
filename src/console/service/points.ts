/**
 * What the charts show of one moment: states as they were read, and what happened since an earlier reading: per second
 * since the one before, and for quantiles and means since that of about 30 s before, since one of two seconds has too few
 * values. A service that was started in between counts anew, so nothing is known across its start.
 */
import { type Buckets, bucketsBetween, quantile } from './buckets.js'
import type { Answers, Reading } from './reading.js'

/** Members that a point shows as they were read. */
type Shown = 'writesInFlight' | 'connections' | 'connectionsMax' | 'residentBytes' | 'perWorker'

/** Undefined is a gap. Durations are in seconds. */
export interface Point extends Pick<Reading, Shown | 'diskFreeBytes' | 'diskFreeBytesMin'> {
  /** Answers per second. */
  readonly answers: Answers | undefined
  readonly latencyS: Quantiles | undefined
  readonly commitS: Quantiles | undefined
  readonly writesPerCommit: number | undefined
}

export interface Quantiles {
  readonly p50: number | undefined
  readonly p99: number | undefined
  /** Values below the first bound, or above the last one, are not told apart. */
  readonly leastS: number
  readonly mostS: number
}

/** Quantiles and means cover this time. */
const windowS = 30

/** Readings that are this far apart still belong together: a missed one is not yet a gap. */
export const gapS = 6

/** Over less time, a rate would tell more of the times of two answers than of the service. */
const rateSMin = 1

/** Slower readings give no rate: their sampling time is unknown. */
const tookSMax = 1.5

/** @param earlier former readings, the latest last */
export function pointOf(now: Reading, earlier: readonly Reading[]): Point {
  const comparable = earlier.filter(({ startedS }) => startedS === now.startedS)
  const window = comparable.find(({ atS }) => atS >= now.atS - windowS - 1)
  return {
    answers: perSecond(comparable, now),
    latencyS: window && quantiles(window.requestSeconds, now.requestSeconds),
    commitS: window && quantiles(window.commitSeconds, now.commitSeconds),
    writesPerCommit: window && writesPerCommit(window, now),
    writesInFlight: now.writesInFlight,
    connections: now.connections,
    connectionsMax: now.connectionsMax,
    residentBytes: now.residentBytes,
    perWorker: now.perWorker,
    diskFreeBytes: now.diskFreeBytes,
    diskFreeBytesMin: now.diskFreeBytesMin,
  }
}

/** Undefined after a gap, whose mean would tell nothing of now, or if a count has fallen. */
function perSecond(earlier: readonly Reading[], now: Reading): Answers | undefined {
  if (now.tookS > tookSMax) return undefined
  const before = earlier.findLast(({ atS, tookS }) => tookS <= tookSMax && now.atS - atS >= rateSMin)
  if (before === undefined) return undefined
  const seconds = now.atS - before.atS
  if (seconds > gapS) return undefined
  const rate = (of: keyof Answers): number => (now.answers[of] - before.answers[of]) / seconds
  const rates = { '2xx': rate('2xx'), '4xx': rate('4xx'), '5xx': rate('5xx') }
  return Object.values(rates).every((value) => value >= 0) ? rates : undefined
}

function quantiles(before: Buckets, now: Buckets): Quantiles | undefined {
  const between = bucketsBetween(before, now)
  if (between === undefined) return undefined
  const finite = between.bounds.filter((bound) => bound !== Number.POSITIVE_INFINITY)
  const p50 = quantile(0.5, between)
  const p99 = quantile(0.99, between)
  return { p50, p99, leastS: finite[0] ?? 0, mostS: finite.at(-1) ?? Number.POSITIVE_INFINITY }
}

function writesPerCommit(before: Reading, now: Reading): number | undefined {
  const commits = now.commits - before.commits
  return commits > 0 ? (now.committedWrites - before.committedWrites) / commits : undefined
}
