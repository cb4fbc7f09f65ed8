/**
 * One moment of the charts: gauges as they were read, rates relative to the previous sample, quantiles, and means.
 * Quantiles and means cover about 30 s, because two seconds contain too few values.
 */
import { type ByLabel, type Moment, momentGauges, type Quantiles } from './console-state.js'
import { type Counter, type Counts, increase } from './counts.js'
import type { MetricSums } from './metric-sums.js'
import { quantilesOf } from './quantiles.js'

export interface Sample {
  /** Unix time in seconds. */
  readonly atS: number
  readonly counts: Counts
}

/** The time covered by quantiles and means. */
export const windowS = 30

/** Over a shorter time, a rate would show the workers' response times rather than the service's load. */
const rateSMin = 1

/** Over a longer time, a rate would not show the current load. The service's own samples are 5 s apart. */
const rateSMax = 8

/** The first sample of the last 30 s. @param earlier ascending */
export function windowStart<Earlier extends Sample>(earlier: readonly Earlier[], nowS: number): Earlier | undefined {
  return earlier.find(({ atS }) => atS >= nowS - windowS - 1)
}

/** @param earlier ascending */
export function momentOf(now: Sample, sums: MetricSums, earlier: readonly Sample[]): Moment {
  const before = earlier.findLast(({ atS }) => now.atS - atS >= rateSMin)
  const recent = before && now.atS - before.atS <= rateSMax ? before : undefined
  const start = windowStart(earlier, now.atS)
  const responses = recent && perSecond('responses', recent, now)
  const ofWorkers = (name: string): ByLabel => Object.fromEntries(sums.by(name, ({ pid }) => `worker ${pid}`))
  return {
    atS: now.atS,
    responses: responses && { '2xx': 0, '4xx': 0, '5xx': 0, ...responses },
    routes: recent && perSecond('routes', recent, now),
    latencyS: start && quantilesSince('requestSeconds', start, now),
    commitS: start && quantilesSince('commitSeconds', start, now),
    writesPerCommit: start && writesPerCommit(start, now),
    ...sums.totals(momentGauges),
    workerResidentBytes: ofWorkers('topicd_worker_resident_memory_bytes'),
    workerLoopDelayS: ofWorkers('topicd_worker_event_loop_delay_p99_seconds'),
  }
}

/** Undefined if a count has fallen. */
export function perSecond(counter: Counter, before: Sample, now: Sample): ByLabel | undefined {
  const counts = increase(counter, before.counts, now.counts)
  const seconds = now.atS - before.atS
  return counts && Object.fromEntries(Object.entries(counts).map(([label, count]) => [label, count / seconds]))
}

/** Undefined if a count has fallen, or the number of bounds has changed because another build reports others. */
function quantilesSince(histogram: Counter, before: Sample, now: Sample): Quantiles | undefined {
  const known = before.counts[histogram].size
  if (known !== 0 && known !== now.counts[histogram].size) return undefined
  const counts = increase(histogram, before.counts, now.counts)
  return counts && quantilesOf(counts)
}

function writesPerCommit({ counts: before }: Sample, { counts: now }: Sample): number | undefined {
  const commits = increase('commits', before, now)?.['']
  const writes = increase('committedWrites', before, now)?.['']
  return commits === undefined || commits === 0 || writes === undefined ? undefined : writes / commits
}
