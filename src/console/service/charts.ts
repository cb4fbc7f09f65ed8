/** The charts of the page: their titles, units and lines. How they are drawn is for drawing.ts. */
import { formatBytes, formatCount, formatRate, formatSeconds, formatWhole } from './formats.js'
import type { Moment } from './history.js'
import type { Point } from './points.js'
import type { WorkerReading } from './reading.js'

export interface Line {
  readonly name: string
  readonly value: (point: Point) => number | undefined
  /** The number of its colour; by default that of its place. */
  readonly colour?: number
  /** A limit: dashed, and no reason to make the chart higher while it is far away. */
  readonly isLimit?: boolean
}

export interface Chart {
  readonly title: string
  /** What its values are, where the title does not say it. */
  readonly explanation?: string
  readonly format: (value: number) => string
  /** Which values are round; by default multiples of powers of ten. */
  readonly round?: 'whole' | 'binary'
  readonly lines: readonly Line[]
}

/** How many colours there are; of more lines, some share theirs. */
const colours = 6

/** Red, for what is bad. */
const limitColour = 5

/** Which of the style sheet's colours for charts a line has, from 1. */
export function colourOf({ colour, isLimit }: Line, index: number): number {
  return colour ?? (isLimit ? limitColour : (index % colours) + 1)
}

const fixedCharts: readonly Chart[] = [
  {
    title: 'Requests',
    explanation: 'answers per second, by status',
    format: formatRate,
    lines: [
      { name: '2xx', value: ({ answers }) => answers?.['2xx'] },
      { name: '4xx', value: ({ answers }) => answers?.['4xx'] },
      { name: '5xx', value: ({ answers }) => answers?.['5xx'], colour: limitColour },
    ],
  },
  {
    title: 'Latency',
    explanation: 'within the workers, over the last 30 s',
    format: formatSeconds,
    lines: [
      { name: 'median', value: ({ latencyS }) => latencyS?.p50 },
      { name: '99 %', value: ({ latencyS }) => latencyS?.p99 },
    ],
  },
  {
    title: 'Commit time',
    explanation: 'until the disk has the writes, over the last 30 s',
    format: formatSeconds,
    lines: [
      { name: 'median', value: ({ commitS }) => commitS?.p50 },
      { name: '99 %', value: ({ commitS }) => commitS?.p99 },
    ],
  },
  {
    title: 'Writes in a commit',
    explanation: 'mean of the last 30 s',
    format: formatCount,
    lines: [{ name: 'writes', value: ({ writesPerCommit }) => writesPerCommit }],
  },
  {
    title: 'Writes in flight',
    explanation: 'that wait for their commit',
    format: formatWhole,
    round: 'whole',
    lines: [{ name: 'writes', value: ({ writesInFlight }) => writesInFlight }],
  },
  {
    title: 'Connections',
    explanation: 'of clients, over all workers',
    format: formatWhole,
    round: 'whole',
    lines: [
      { name: 'open', value: ({ connections }) => connections },
      { name: 'limit', value: ({ connectionsMax }) => connectionsMax, isLimit: true },
    ],
  },
]

const disk: Chart = {
  title: 'Free space on the disk',
  explanation: 'that has the data directory',
  format: formatBytes,
  round: 'binary',
  lines: [
    { name: 'free', value: ({ diskFreeBytes }) => diskFreeBytes },
    { name: 'least for writes', value: ({ diskFreeBytesMin }) => diskFreeBytesMin, isLimit: true },
  ],
}

/** All charts for these moments: of the workers that are in them, and of the disk if they have one. */
export function chartsOf(moments: readonly Moment[]): Chart[] {
  const points = moments.flatMap(({ point }) => point ?? [])
  const pids = [...new Set(points.flatMap(({ perWorker }) => perWorker.map(({ pid }) => pid)))]
  const ofWorkers = (value: (worker: WorkerReading) => number | undefined): Line[] =>
    pids.map((pid) => ({ name: `worker ${pid}`, value: ({ perWorker }) => ofWorker(perWorker, pid, value) }))
  return [
    ...fixedCharts,
    {
      title: 'Memory',
      explanation: 'resident; what processes share counts in each',
      format: formatBytes,
      round: 'binary',
      lines: [
        { name: 'all processes', value: ({ residentBytes }) => residentBytes },
        ...ofWorkers((of) => of.residentBytes),
      ],
    },
    {
      title: 'Event-loop delay',
      explanation: 'how late timers are, 99 % of the last 15 s',
      format: formatSeconds,
      lines: ofWorkers((of) => of.loopDelayP99S),
    },
    ...(points.some(({ diskFreeBytesMin }) => diskFreeBytesMin !== undefined) ? [disk] : []),
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

/** The values of a line, one for each moment; null is a gap. */
export function valuesOf({ value }: Line, moments: readonly Moment[]): (number | null)[] {
  return moments.map(({ point }) => (point && value(point)) ?? null)
}

/** How high a chart has to be: what its lines reach, and a limit once they are half way to it. */
export function highest(chart: Chart, moments: readonly Moment[]): number {
  const maxOf = (line: Line): number => Math.max(0, ...valuesOf(line, moments).map((value) => value ?? 0))
  const reached = Math.max(0, ...chart.lines.filter(({ isLimit }) => !isLimit).map(maxOf))
  const limits = chart.lines.filter(({ isLimit }) => isLimit).map(maxOf)
  return Math.max(reached, ...limits.filter((limit) => limit <= 2 * reached))
}
