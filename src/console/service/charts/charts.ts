/** The charts of the page in groups: their titles, units and lines. How they are drawn is for drawing.ts. */
import type { ByLabel, Moment, momentGauges, Quantiles } from '../../../ops/figures/console-state.js'
import { formatBytes, formatCount, formatRate, formatSeconds, formatWhole } from '../formats.js'
import { badStyle, type LineStyle, type LineStyles, limitStyle, styleAt } from './line-styles.js'

type Gauge = keyof typeof momentGauges

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

const perSecond: Unit = { format: formatRate }
const seconds: Unit = { format: formatSeconds }
const whole: Unit = { format: formatWhole, round: 'whole' }
const bytes: Unit = { format: formatBytes, round: 'binary' }

function chart(title: string, explanation: string, unit: Unit, ...declared: readonly DeclaredLine[]): Chart {
  const lines = declared.map((line, index) => ({ style: line.limit ? limitStyle : styleAt(index), ...line }))
  return { title, explanation, ...unit, lines }
}

/** One for each moment; null is a gap. */
export function valuesOf({ value }: Line, moments: readonly Moment[]): (number | null)[] {
  return moments.map((moment) => value(moment) ?? null)
}

/** @param name of the values, in the plural */
function quantileLines(name: string, of: (moment: Moment) => Quantiles | undefined): DeclaredLine[] {
  const line = (share: string, quantile: 'p50' | 'p99'): DeclaredLine => ({
    name: `${share} of ${name}`,
    value: (moment) => of(moment)?.[quantile],
    text: (moment) => textBeyond(of(moment), quantile),
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

/** @param max the gauge of the limit */
function limitedGauge(name: string, of: Gauge, max: Gauge): DeclaredLine {
  return { ...gauge(name, of), warning: (moment) => warningAt('full', moment[of], moment[max]) }
}

function warningAt(text: string, value: number | undefined, limit: number | undefined): string | undefined {
  return value !== undefined && limit !== undefined && value >= limit ? text : undefined
}

const requests = chart(
  'Requests',
  'responses per second, by status',
  perSecond,
  { name: '2xx', value: ({ responses }) => responses?.['2xx'] },
  { name: '4xx', value: ({ responses }) => responses?.['4xx'], style: styleAt(3) },
  { name: '5xx', value: ({ responses }) => responses?.['5xx'], style: badStyle },
)

const restOfTraffic: readonly Chart[] = [
  chart(
    'Latency',
    'how fast workers respond, over the last 30 s',
    seconds,
    ...quantileLines('responses', ({ latencyS }) => latencyS),
  ),
  chart(
    'Connections',
    'from clients, over all workers',
    whole,
    limitedGauge('open', 'connections', 'connectionsMax'),
    gauge('limit', 'connectionsMax', 'upper'),
  ),
  chart(
    'Streams and polls',
    'of changes; the limit is for each',
    whole,
    limitedGauge('open streams', 'streams', 'listenersMax'),
    limitedGauge('waiting polls', 'polls', 'listenersMax'),
    gauge('limit', 'listenersMax', 'upper'),
  ),
]

const writes: readonly Chart[] = [
  chart(
    'Commit time',
    'until writes are on disk, over the last 30 s',
    seconds,
    ...quantileLines('commits', ({ commitS }) => commitS),
  ),
  chart(
    'Writes per commit',
    'mean over the last 30 s',
    { format: formatCount },
    { name: 'writes', value: ({ writesPerCommit }) => writesPerCommit },
  ),
  chart('Writes in flight', 'waiting for their commit', whole, gauge('writes', 'writesInFlight')),
]

const memory = chart('Memory', 'resident, of all processes together', bytes, gauge('memory', 'residentBytes'))

const disk = chart(
  'Free disk space',
  'where the data directory is',
  bytes,
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
  const ofWorkers = (value: (moment: Moment) => ByLabel | undefined): Line[] =>
    styles.workers.map(([name, style]) => ({ name, style, value: (moment) => value(moment)?.[name], isOfWorker: true }))
  const routes = styles.routes.map(([name, style]): Line => {
    return { name, style, value: ({ routes }) => routes && (routes[name] ?? 0) }
  })
  const memories = ofWorkers(({ workerResidentBytes }) => workerResidentBytes)
  const delays = ofWorkers(({ workerLoopDelayS }) => workerLoopDelayS)
  const hasMark = moments.some(({ diskFreeBytesMin }) => diskFreeBytesMin !== undefined)
  return {
    Traffic: [requests, chart('Requests by route', 'responses per second', perSecond, ...routes), ...restOfTraffic],
    Writes: writes,
    'Memory and disk': hasMark ? [memory, disk] : [memory],
    Workers: [
      chart('Memory per worker', 'resident; shared pages count in each', bytes, ...memories),
      chart('Event-loop delay', 'how late timers are, 99th percentile of the last 15 s', seconds, ...delays),
    ],
  }
}
