/** The charts of the page: their titles, units and lines. How they are drawn is for drawing.ts. */
import { formatBytes, formatCount, formatRate, formatSeconds, formatWhole } from '../formats.js'
import type { Moment } from '../history.js'
import type { Point, Quantiles } from '../points.js'
import type { WorkerReading } from '../reading.js'
import { badStyle, type LineStyle, limitStyle, styleAt } from './line-style.js'

export interface Line {
  readonly name: string
  readonly value: (point: Point) => number | undefined
  /** Defaults to the style for its index. */
  readonly style?: LineStyle
  /** A limit, of values above or below it: no reason to make the chart higher while they are far away. */
  readonly limit?: 'upper' | 'lower'
  readonly pid?: string
  /** The value in words, where its number would say more than is known. */
  readonly text?: (point: Point) => string | undefined
  /** The fault of the value, in words; undefined for none. */
  readonly warning?: (point: Point) => string | undefined
}

export interface Chart {
  readonly title: string
  readonly explanation?: string
  readonly format: (value: number) => string
  /** Which values are round; by default multiples of powers of ten. */
  readonly round?: 'whole' | 'binary'
  /** The first is drawn above the others. */
  readonly lines: readonly Line[]
}

export function styleOf({ style, limit }: Line, index: number): LineStyle {
  return style ?? (limit ? limitStyle : styleAt(index))
}

/** @param name of the values, in the plural */
function quantileLines(name: string, of: (point: Point) => Quantiles | undefined): Line[] {
  const line = (share: string, quantile: 'p50' | 'p99'): Line => ({
    name: `${share} of ${name}`,
    value: (point) => of(point)?.[quantile],
    text: (point) => textBeyond(of(point), quantile),
  })
  return [line('median (p50)', 'p50'), line('p99', 'p99')]
}

/** Undefined for a value between the bounds, which is as exact as its buckets. */
function textBeyond(quantiles: Quantiles | undefined, quantile: 'p50' | 'p99'): string | undefined {
  const value = quantiles?.[quantile]
  if (quantiles === undefined || value === undefined) return undefined
  if (value < quantiles.leastS) return `< ${formatSeconds(quantiles.leastS)}`
  return value >= quantiles.mostS ? `> ${formatSeconds(quantiles.mostS)}` : undefined
}

function warningAt(text: string, value: number | undefined, limit: number | undefined): string | undefined {
  return value !== undefined && limit !== undefined && value >= limit ? text : undefined
}

const fixedCharts: readonly Chart[] = [
  {
    title: 'Requests',
    explanation: 'responses per second, by status',
    format: formatRate,
    lines: [
      { name: '2xx', value: ({ answers }) => answers?.['2xx'] },
      { name: '4xx', value: ({ answers }) => answers?.['4xx'], style: styleAt(3) },
      { name: '5xx', value: ({ answers }) => answers?.['5xx'], style: badStyle },
    ],
  },
  {
    title: 'Latency',
    explanation: 'how fast workers respond, over the last 30 s',
    format: formatSeconds,
    lines: quantileLines('responses', ({ latencyS }) => latencyS),
  },
  {
    title: 'Commit time',
    explanation: 'until writes are on disk, over the last 30 s',
    format: formatSeconds,
    lines: quantileLines('commits', ({ commitS }) => commitS),
  },
  {
    title: 'Writes per commit',
    explanation: 'mean over the last 30 s',
    format: formatCount,
    lines: [{ name: 'writes', value: ({ writesPerCommit }) => writesPerCommit }],
  },
  {
    title: 'Writes in flight',
    explanation: 'waiting for their commit',
    format: formatWhole,
    round: 'whole',
    lines: [{ name: 'writes', value: ({ writesInFlight }) => writesInFlight }],
  },
  {
    title: 'Connections',
    explanation: 'from clients, over all workers',
    format: formatWhole,
    round: 'whole',
    lines: [
      {
        name: 'open',
        value: ({ connections }) => connections,
        warning: ({ connections, connectionsMax }) => warningAt('full', connections, connectionsMax),
      },
      { name: 'limit', value: ({ connectionsMax }) => connectionsMax, limit: 'upper' },
    ],
  },
  {
    title: 'Memory',
    explanation: 'resident, of all processes together',
    format: formatBytes,
    round: 'binary',
    lines: [{ name: 'memory', value: ({ residentBytes }) => residentBytes }],
  },
]

const disk: Chart = {
  title: 'Free disk space',
  explanation: 'where the data directory is',
  format: formatBytes,
  round: 'binary',
  lines: [
    {
      name: 'free',
      value: ({ diskFreeBytes }) => diskFreeBytes,
      warning: ({ diskFreeBytes, diskFreeBytesMin }) => warningAt('too little', diskFreeBytesMin, diskFreeBytes),
    },
    { name: 'minimum for writes', value: ({ diskFreeBytesMin }) => diskFreeBytesMin, limit: 'lower' },
  ],
}

export function pidsOf(moments: readonly Moment[]): string[] {
  return [...new Set(moments.flatMap(({ point }) => point?.perWorker.map(({ pid }) => pid) ?? []))]
}

/** A worker without figures is still named for this long: it may only be slow to answer. */
const absentSMax = 15

export function pidsAround({ atS }: Moment, moments: readonly Moment[]): ReadonlySet<string> {
  return new Set(pidsOf(moments.filter((of) => of.atS <= atS && of.atS > atS - absentSMax)))
}

/** The disk's only if it has a mark. @param places of the workers */
export function chartsOf(moments: readonly Moment[], places: ReadonlyMap<string, number>): Chart[] {
  const ofWorkers = (value: (worker: WorkerReading) => number | undefined): Line[] =>
    [...places].map(([pid, place]) => ({
      name: `worker ${pid}`,
      value: ({ perWorker }) => ofWorker(perWorker, pid, value),
      style: styleAt(place),
      pid,
    }))
  return [
    ...fixedCharts,
    {
      title: 'Memory per worker',
      explanation: 'resident; shared pages count in each',
      format: formatBytes,
      round: 'binary',
      lines: ofWorkers((of) => of.residentBytes),
    },
    {
      title: 'Event-loop delay',
      explanation: 'how late timers are, 99th percentile of the last 15 s',
      format: formatSeconds,
      lines: ofWorkers((of) => of.loopDelayP99S),
    },
    ...(moments.some(({ point }) => point?.diskFreeBytesMin !== undefined) ? [disk] : []),
  ]
}

function ofWorker(
  workers: readonly WorkerReading[],
  pid: string,
  value: (worker: WorkerReading) => number | undefined,
): number | undefined {
  const worker = workers.find((of) => of.pid === pid)
  return worker && value(worker)
}
