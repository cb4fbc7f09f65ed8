/** Plots as SVG text, drawn by echarts without a browser: medians as lines, the spread of the rounds as bars. */
import type * as Echarts from 'echarts/types/dist/echarts'
import type { Spread } from '../measure/statistics.js'

/** The declarations of echarts' main entry do not resolve in a module of Node's; these are what they refer to. */
const { init } = (await import('echarts')) as unknown as typeof Echarts

/** One line of a plot. */
export interface Curve {
  readonly name: string
  /** The floor of a curve: drawn thin, in the colour of the curve before or after it. */
  readonly isFloor: boolean
  readonly points: readonly { readonly x: number; readonly y: Spread }[]
}

/** A plot of microseconds over something that grows, both on logarithmic axes. */
export interface Plot {
  readonly title: string
  readonly axis: string
  readonly note: string
  readonly curves: readonly Curve[]
}

const width = 760
const height = 440

const colours = ['#1f5fa8', '#c2571a', '#2e7d4f', '#7a4fa3']

/** @returns the SVG document */
export function plot({ title, axis, note, curves }: Plot): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  const names = curves.filter(({ isFloor }) => !isFloor).map(({ name }) => name)
  const xs = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => String(x))))]
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, subtext: wrapped(note), subtextStyle: { fontSize: 9 }, left: 'center' },
    legend: { top: 62, data: names },
    grid: { top: 100, left: 64, right: 24, bottom: 48 },
    xAxis: {
      type: 'category',
      data: xs,
      name: axis,
      nameLocation: 'middle',
      nameGap: 28,
      axisLabel: { formatter: (x: string) => Number(x).toLocaleString('en') },
    },
    yAxis: { type: 'log', name: 'server CPU, µs a request (dashed: the floor)', nameLocation: 'middle', nameGap: 44 },
    series: curves.flatMap((curve) => {
      const place = names.indexOf(curve.name.replace(/: floor$/, ''))
      return drawn(curve, colours[Math.max(0, place) % colours.length])
    }),
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}

/** A curve and a bar at each of its points, from the least to the greatest of the rounds. */
function drawn(curve: Curve, color: string): (Echarts.LineSeriesOption | Echarts.CustomSeriesOption)[] {
  const line: Echarts.LineSeriesOption = {
    type: 'line',
    name: curve.name,
    data: curve.points.map(({ x, y }) => [String(x), Number(y.median.toPrecision(3))]),
    symbol: curve.isFloor ? 'none' : 'circle',
    symbolSize: 6,
    color,
    lineStyle: { width: curve.isFloor ? 1 : 2, type: curve.isFloor ? 'dashed' : 'solid' },
    label: { show: !curve.isFloor, position: 'top', fontSize: 10 },
  }
  const bars: Echarts.CustomSeriesOption = {
    type: 'custom',
    data: curve.points.map(({ x, y }) => [String(x), y.min, y.max]),
    renderItem: (_params, api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)])
      const [, high] = api.coord([api.value(0), api.value(2)])
      return { type: 'line', shape: { x1: x, y1: low, x2: x, y2: high }, style: { stroke: color, lineWidth: 1 } }
    },
  }
  return [line, bars]
}

/** Two lines of a long note. */
function wrapped(note: string): string {
  const middle = note.indexOf(' · ', note.length / 2)
  return middle < 0 ? note : `${note.slice(0, middle)}\n${note.slice(middle + 3)}`
}
