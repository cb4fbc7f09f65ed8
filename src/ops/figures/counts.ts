/** Counters at one point in time, and their increase between two such points. */
import type { ByLabel } from './console-state.js'
import type { MetricSums } from './metric-sums.js'

type LabelOf = Parameters<MetricSums['by']>[1]

const alone: LabelOf = () => ''

const counters = {
  responses: ['topicd_requests_total', ({ status }) => classOf(Number(status))],
  routes: ['topicd_requests_total', ({ route }) => route],
  keys: ['topicd_key_requests_total', ({ key }) => key],
  refusals: ['topicd_rejected_total', ({ cause }) => cause],
  requestSeconds: ['topicd_request_duration_seconds_bucket', ({ le }) => le],
  commitSeconds: ['topicd_commit_duration_seconds_bucket', ({ le }) => le],
  commits: ['topicd_commit_writes_count', alone],
  committedWrites: ['topicd_commit_writes_sum', alone],
  workerRestarts: ['topicd_worker_restarts_total', alone],
  writerRestarts: ['topicd_writer_restarts_total', alone],
} as const satisfies Readonly<Record<string, readonly [name: string, labelOf: LabelOf]>>

export type Counter = keyof typeof counters

export type Counts = Readonly<Record<Counter, ReadonlyMap<string, number>>>

function classOf(status: number): string {
  return status >= 500 ? '5xx' : status >= 400 ? '4xx' : '2xx'
}

export function countsOf(sums: MetricSums): Counts {
  const counts = Object.entries(counters).map(([counter, [name, labelOf]]) => [counter, sums.by(name, labelOf)])
  return Object.fromEntries(counts) as Counts
}

/** The increase by label; a new label counts from 0. Undefined if a count has fallen, for example in another build's reports. */
export function increase(counter: Counter, before: Counts, now: Counts): ByLabel | undefined {
  const increases = [...now[counter]].map(
    ([label, count]) => [label, count - (before[counter].get(label) ?? 0)] as const,
  )
  return increases.every(([, count]) => count >= 0) ? Object.fromEntries(increases) : undefined
}
