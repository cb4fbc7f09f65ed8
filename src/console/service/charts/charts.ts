/** The charts of the page in groups, with titles, units and lines. drawing.ts draws them. */
import type { ByLabel, Moment, momentGauges, Quantiles } from '../../../ops/figures/console-state.js'
import { formatBytes, formatCount, formatRate, formatSeconds, formatWhole } from '../../shared/formats.js'
import { badStyle, type LineStyle, type LineStyles, limitStyle, styleAt } from './line-styles.js'

type Gauge = keyof typeof momentGauges | 'writesPerCommit'

export interface Line {
  readonly name: string
  readonly value: (moment: Moment) => number | undefined
  readonly style: LineStyle
  /** Marks a limit, which does not extend the chart's scale while the values are far from it. */
  readonly limit?: 'upper' | 'lower'
  /** True for the line of one worker. */
  readonly isOfWorker?: boolean
  /** The value as text if a number would suggest more precision than is known. */
  readonly text?: (moment: Moment) => string | undefined
  /** A warning about the value, if there is a problem. */
  readonly warning?: (moment: Moment) => string | undefined
}

/** The style defaults to the limit's style, or to the style for the line's index. */
type DeclaredLine = Omit<Line, 'style'> & Partial<Pick<Line, 'style'>>

interface Unit {
  readonly format: (value: number) => string
  /** The kind of round values on the axis; by default multiples of powers of ten. */
  readonly round?: 'whole' | 'binary'
}

export interface Chart extends Unit {
  readonly title: string
  readonly explanation: string
  /** The first line is drawn above the others. */
  readonly lines: readonly Line[]
}

/** The charts by the title of their group. */
export type ChartGroups = Readonly<Record<string, readonly Chart[]>>

/** A function that declares charts with this unit. */
const chartsIn =
  (unit: Unit) =>
  (title: string, explanation: string, ...declared: readonly DeclaredLine[]): Chart => {
    const lines = declared.map((line, index) => ({ style: line.limit ? limitStyle : styleAt(index), ...line }))
    return { title, explanation, ...unit, lines }
  }

const perSecond = chartsIn({ format: formatRate })
const seconds = chartsIn({ format: formatSeconds })
const mean = chartsIn({ format: formatCount })
const whole = chartsIn({ format: formatWhole, round: 'whole' })
const bytes = chartsIn({ format: formatBytes, round: 'binary' })

/** The line's value at each moment; null in a gap. */
export function valuesOf({ value }: Line, moments: readonly Moment[]): (number | null)[] {
  return moments.map((moment) => value(moment) ?? null)
}

/** @param name the name of the values, in the plural */
function quantileLines(name: string, of: 'latencyS' | 'commitS'): DeclaredLine[] {
  const line = (share: string, quantile: 'p50' | 'p99'): DeclaredLine => ({
    name: `${share} of ${name}`,
    value: (moment) => moment[of]?.[quantile],
    text: (moment) => textBeyond(moment[of], quantile),
  })
  return [line('median (p50)', 'p50'), line('p99', 'p99')]
}

/** The text for a value outside the histogram's bounds; undefined for a value within them. */
function textBeyond(quantiles: Quantiles | undefined, quantile: 'p50' | 'p99'): string | undefined {
  const value = quantiles?.[quantile]
  if (quantiles === undefined || value === undefined) return undefined
  if (value < quantiles.leastS) return `< ${formatSeconds(quantiles.leastS)}`
  return value >= quantiles.mostS ? `> ${formatSeconds(quantiles.mostS)}` : undefined
}

function gauge(name: string, of: Gauge, limit?: Line['limit']): DeclaredLine {
  return { name, value: (moment) => moment[of], ...(limit && { limit }) }
}

/** Lines for gauges by name, and for the limit that applies to each. */
function limited(max: Gauge, gauges: Readonly<Record<string, Gauge>>): DeclaredLine[] {
  const lines = Object.entries(gauges).map(([name, of]) => {
    return { ...gauge(name, of), warning: (moment: Moment) => warningAt('full', moment[of], moment[max]) }
  })
  return [...lines, gauge('limit', max, 'upper')]
}

function warningAt(text: string, value: number | undefined, limit: number | undefined): string | undefined {
  return value !== undefined && limit !== undefined && value >= limit ? text : undefined
}

const requests = perSecond(
  'Requests',
  'responses per second, by status',
  { name: '2xx', value: ({ responses }) => responses?.['2xx'] },
  { name: '4xx', value: ({ responses }) => responses?.['4xx'], style: styleAt(3) },
  { name: '5xx', value: ({ responses }) => responses?.['5xx'], style: badStyle },
)

const listeners = { 'open streams': 'streams', 'waiting polls': 'polls' } as const

const restOfTraffic: readonly Chart[] = [
  seconds('Latency', 'response time in workers, over the last 30 s', ...quantileLines('responses', 'latencyS')),
  whole('Connections', 'from clients, to all workers', ...limited('connectionsMax', { open: 'connections' })),
  whole('Streams and polls', 'for changes; the limit applies to each kind', ...limited('listenersMax', listeners)),
]

const writes: readonly Chart[] = [
  seconds('Commit time', 'until writes are on disk, over the last 30 s', ...quantileLines('commits', 'commitS')),
  mean('Writes per commit', 'mean over the last 30 s', gauge('writes', 'writesPerCommit')),
  whole('Writes in flight', 'waiting for their commit', gauge('writes', 'writesInFlight')),
]

const memory = bytes('Memory', 'resident, total of all processes', gauge('memory', 'residentBytes'))

const disk = bytes(
  'Free disk space',
  'on the file system of the data directory',
  {
    ...gauge('free', 'diskFreeBytes'),
    warning: ({ diskFreeBytes, diskFreeBytesMin }) => warningAt('too little', diskFreeBytesMin, diskFreeBytes),
  },
  gauge('minimum for writes', 'diskFreeBytesMin', 'lower'),
)

function labelsIn(moments: readonly Moment[], of: (moment: Moment) => ByLabel | undefined): string[] {
  return [...new Set(moments.flatMap((moment) => Object.keys(of(moment) ?? {})))]
}

export const workersOf = (moments: readonly Moment[]): string[] =>
  labelsIn(moments, ({ workerResidentBytes, workerLoopDelayS }) => ({ ...workerResidentBytes, ...workerLoopDelayS }))

/** The routes with requests. */
export const routesOf = (moments: readonly Moment[]): string[] => labelsIn(moments, ({ routes }) => routes).sort()

/** A worker without figures is shown for this much longer, in s, because it may merely be slow to respond. */
const absentSMax = 15

export function workersAround({ atS }: Moment, moments: readonly Moment[]): ReadonlySet<string> {
  return new Set(workersOf(moments.filter((of) => of.atS <= atS && of.atS > atS - absentSMax)))
}

type Styles = ReturnType<LineStyles['assign']>

/** Includes the disk's chart only if there is a minimum for free space. @param styles line styles of workers and routes */
export function chartGroupsOf(
  moments: readonly Moment[],
  styles: Readonly<Record<'workers' | 'routes', Styles>>,
): ChartGroups {
  const ofWorkers = (of: 'workerResidentBytes' | 'workerLoopDelayS') =>
    styles.workers.map(([name, style]): Line => {
      return { name, style, value: (moment) => moment[of]?.[name], isOfWorker: true }
    })
  const routes = styles.routes.map(([name, style]): Line => {
    return { name, style, value: ({ routes }) => routes && (routes[name] ?? 0) }
  })
  const hasMark = moments.some(({ diskFreeBytesMin }) => diskFreeBytesMin !== undefined)
  return {
    Traffic: [requests, perSecond('Requests by route', 'responses per second', ...routes), ...restOfTraffic],
    Writes: writes,
    'Memory and disk': hasMark ? [memory, disk] : [memory],
    Workers: [
      bytes('Memory per worker', 'resident; shared pages count in every worker', ...ofWorkers('workerResidentBytes')),
      seconds(
        'Event-loop delay',
        'delay of timers, 99th percentile over the last 15 s',
        ...ofWorkers('workerLoopDelayS'),
      ),
    ],
  }
}
