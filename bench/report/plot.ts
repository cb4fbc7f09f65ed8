/**
 * Plots as SVG text, drawn by echarts without a browser: medians as lines, the spread of the rounds as vertical bars, the floor dashed. The
 * figures are in a table under the axis, with a row in the colour of each curve; next to the points they would overlap.
 */
import type * as Echarts from 'echarts/types/dist/echarts'
import type { Spread } from '../measure/statistics.js'
import { figure } from './table.js'

/** The declarations of echarts' main entry do not resolve in an ES module of Node; `Echarts` has the declarations they refer to. */
const { init } = (await import('echarts')) as unknown as typeof Echarts

/** One line of a plot. */
export interface Curve {
  readonly name: string
  /** Curves of the same workload share a colour. */
  readonly workload: string
  /** Whether the curve is the floor of its workload, which is drawn thin and has no row of figures. */
  readonly isFloor: boolean
  readonly points: readonly { readonly x: number; readonly y: Spread }[]
}

/** A plot of microseconds, on a logarithmic axis, over a growing quantity. */
interface Plot {
  readonly title: string
  readonly axis: string
  readonly note: string
  readonly curves: readonly Curve[]
}

const width = 760
const height = 500

/** Height of a row of figures under the axis. */
const rowHeight = 15

/** Space to the left of the axes, for the names of the rows and of the vertical axis. */
const leftMargin = 104

/** Characters of the note that fit into the width. */
const noteCharactersMax = 150

const colours = ['#1f5fa8', '#c2571a', '#2e7d4f', '#7a4fa3']

/** @returns the SVG document */
export function plot({ title, axis, note, curves }: Plot): string {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
  const rows = curves.filter(({ isFloor }) => !isFloor)
  const workloads = [...new Set(curves.map(({ workload }) => workload))]
  const colourOf = (curve: Curve): string => colours[workloads.indexOf(curve.workload) % colours.length] ?? 'black'
  const xs = [...new Set(curves.flatMap(({ points }) => points.map(({ x }) => String(x))))]
  const rowsHeight = rows.length * rowHeight
  const bottom = 52 + rowsHeight
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, subtext: wrapped(note), subtextStyle: { fontSize: 9, lineHeight: 12 }, left: 'center' },
    legend: { top: 78, itemGap: 24, data: rows.map(({ name }) => name) },
    grid: { top: 112, left: leftMargin, right: 24, bottom },
    graphic: rows.map((curve, i) => ({
      type: 'text',
      left: 12,
      top: height - bottom + 24 + i * rowHeight,
      style: { text: curve.name, fontSize: 11, fill: colourOf(curve) },
    })),
    xAxis: {
      type: 'category',
      data: xs,
      name: axis,
      nameLocation: 'middle',
      nameGap: 30 + rowsHeight,
      axisLabel: {
        lineHeight: rowHeight,
        interval: 0,
        formatter: (x: string) =>
          [Number(x).toLocaleString('en'), ...rows.map((curve, i) => cell(curve, x, i))].join('\n'),
        rich: Object.fromEntries(
          rows.map((curve, i) => [`row${i}`, { color: colourOf(curve), lineHeight: rowHeight }]),
        ),
      },
    },
    yAxis: { type: 'log', name: 'server CPU, µs per request (dashed: the floor)', nameLocation: 'middle', nameGap: 44 },
    series: curves.flatMap((curve) => seriesOf(curve, colourOf(curve))),
  })
  const svg = chart.renderToSVGString()
  chart.dispose()
  return svg
}

/** The median of a curve at one size, styled as its row. */
function cell({ points }: Curve, x: string, row: number): string {
  const median = points.find((point) => String(point.x) === x)?.y.median
  return median === undefined ? ' ' : `{row${row}|${figure(median)}}`
}

/** A curve, and at each of its points a bar from the smallest to the largest round. */
function seriesOf(curve: Curve, color: string): (Echarts.LineSeriesOption | Echarts.CustomSeriesOption)[] {
  const line: Echarts.LineSeriesOption = {
    type: 'line',
    name: curve.name,
    data: curve.points.map(({ x, y }) => [String(x), Number(y.median.toPrecision(3))]),
    symbol: curve.isFloor ? 'none' : 'circle',
    symbolSize: 6,
    color,
    lineStyle: { width: curve.isFloor ? 1 : 2, type: curve.isFloor ? 'dashed' : 'solid' },
    z: 3,
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

/** A long note, split into lines that fit into the width. */
function wrapped(note: string): string {
  const lines: string[] = []
  let line = ''
  for (const part of note.split(' · ')) {
    const longer = line === '' ? part : `${line} · ${part}`
    if (longer.length > noteCharactersMax && line !== '') {
      lines.push(line)
      line = part
    } else line = longer
  }
  return [...lines, line].join('\n')
}
