/** The charts of the page in groups: their titles, units and lines. How they are drawn is for drawing.ts. */
import type { ByLabel, Moment, momentGauges, Quantiles } from '../../../ops/figures/console-state.js'
import { formatBytes, formatCount, formatRate, formatSeconds, formatWhole } from '../../shared/formats.js'
import { badStyle, type LineStyle, type LineStyles, limitStyle, styleAt } from './line-styles.js'

type Gauge = keyof typeof momentGauges | 'writesPerCommit'

export interface Line {
  readonly name: string
  readonly value: (moment: Moment) => number | undefined
  readonly style: LineStyle
  /** A limit, of values above or below it: no reason to make the chart higher while they are far away. */
  readonly limit?: 'upper' | 'lower'
  /** The line is of one worker. */
  readonly isOfWorker?: boolean
  /** The value in words, where its number would say more than is known. */
  readonly text?: (moment: Moment) => string | undefined
  /** The fault of the value, in words; undefined for none. */
  readonly warning?: (moment: Moment) => string | undefined
}

/** By default, its style is that of a limit, or the one for its index. */
type DeclaredLine = Omit<Line, 'style'> & Partial<Pick<Line, 'style'>>

interface Unit {
  readonly format: (value: number) => string
  /** Which values are round; by default multiples of powers of ten. */
  readonly round?: 'whole' | 'binary'
}

export interface Chart extends Unit {
  readonly title: string
  readonly explanation: string
  /** The first is drawn above the others. */
  readonly lines: readonly Line[]
}

/** By the title of their group. */
export type ChartGroups = Readonly<Record<string, readonly Chart[]>>

/** Declares charts of a unit. */
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

/** One for each moment; null is a gap. */
export function valuesOf({ value }: Line, moments: readonly Moment[]): (number | null)[] {
  return moments.map((moment) => value(moment) ?? null)
}

/** @param name of the values, in the plural */
function quantileLines(name: string, of: 'latencyS' | 'commitS'): DeclaredLine[] {
  const line = (share: string, quantile: 'p50' | 'p99'): DeclaredLine => ({
    name: `${share} of ${name}`,
    value: (moment) => moment[of]?.[quantile],
    text: (moment) => textBeyond(moment[of], quantile),
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

function gauge(name: string, of: Gauge, limit?: Line['limit']): DeclaredLine {
  return { name, value: (moment) => moment[of], ...(limit && { limit }) }
}

/** Gauges by the names of their lines, and the limit of each. */
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
  seconds('Latency', 'how fast workers respond, over the last 30 s', ...quantileLines('responses', 'latencyS')),
  whole('Connections', 'from clients, over all workers', ...limited('connectionsMax', { open: 'connections' })),
  whole('Streams and polls', 'of changes; the limit is for each', ...limited('listenersMax', listeners)),
]

const writes: readonly Chart[] = [
  seconds('Commit time', 'until writes are on disk, over the last 30 s', ...quantileLines('commits', 'commitS')),
  mean('Writes per commit', 'mean over the last 30 s', gauge('writes', 'writesPerCommit')),
  whole('Writes in flight', 'waiting for their commit', gauge('writes', 'writesInFlight')),
]

const memory = bytes('Memory', 'resident, of all processes together', gauge('memory', 'residentBytes'))

const disk = bytes(
  'Free disk space',
  'where the data directory is',
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

/** Those with requests. */
export const routesOf = (moments: readonly Moment[]): string[] => labelsIn(moments, ({ routes }) => routes).sort()

/** A worker without figures is still named for this long: it may only be slow to answer. */
const absentSMax = 15

export function workersAround({ atS }: Moment, moments: readonly Moment[]): ReadonlySet<string> {
  return new Set(workersOf(moments.filter((of) => of.atS <= atS && of.atS > atS - absentSMax)))
}

type Styles = ReturnType<LineStyles['assign']>

/** The disk's chart only if it has a mark. @param styles of the lines of workers and of routes */
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
      bytes('Memory per worker', 'resident; shared pages count in each', ...ofWorkers('workerResidentBytes')),
      seconds(
        'Event-loop delay',
        'how late timers are, 99th percentile of the last 15 s',
        ...ofWorkers('workerLoopDelayS'),
      ),
    ],
  }
}
