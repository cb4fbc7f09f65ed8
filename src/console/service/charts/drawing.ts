/**
 * One chart, drawn by uPlot with the colours of the style sheet and the width of its element. charts.ts defines the lines.
 * The page shows the values as text, so the canvas is hidden from screen readers.
 */
/*! uPlot: Copyright Leon Sorokin, MIT License, https://github.com/leeoniya/uPlot */
import Plot from 'uplot'
import type { Moment } from '../../../ops/figures/console-state.js'
import { formatClock } from '../../shared/formats.js'
import { historyS } from '../history.js'
import { type Chart, type Line, valuesOf } from './charts.js'
import { dashesPx } from './line-styles.js'

const heightPx = 150

/** Width for the longest value next to an axis. */
const valuesPx = 66

/** Steps of an axis for whole numbers and for bytes. */
const increments = {
  whole: Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(),
  binary: Array.from({ length: 60 }, (_, power) => 2 ** power),
}

/** Minimum time span of a chart, in s, so that the first moments are not just a dot. */
const shownSMin = 60

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name)

export class Drawing {
  readonly element = document.createElement('div')
  #plot: Plot | undefined
  #drawnLines = ''
  #markedS: number | undefined
  #fromS = 0
  #untilS = 0
  #highest = 0

  /** @param onCursor receives the time at the pointer, in Unix seconds; undefined when the pointer leaves */
  constructor(private readonly onCursor: (atS: number | undefined) => void) {
    this.element.className = 'plot'
    this.element.ariaHidden = 'true'
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.element)
  }

  /** Shows the ten minutes up to `untilS`, or less if there are fewer moments. */
  show(chart: Chart, moments: readonly Moment[], untilS: number): void {
    const firstS = moments[0]?.atS ?? untilS
    this.#fromS = Math.min(untilS - shownSMin, Math.max(untilS - historyS, firstS))
    this.#untilS = untilS
    this.#highest = highest(chart, moments)
    // uPlot draws later lines above earlier ones.
    const lines = chart.lines.toReversed()
    const data: Plot.AlignedData = [moments.map(({ atS }) => atS), ...lines.map((line) => valuesOf(line, moments))]
    const drawnLines = JSON.stringify(lines.map(({ name, style }) => [name, style]))
    if (this.#plot !== undefined && drawnLines === this.#drawnLines) return this.#plot.setData(data)
    this.#plot?.destroy()
    this.#drawnLines = drawnLines
    this.#plot = new Plot(this.#options(chart, lines), data, this.element)
  }

  /** Marks a time. @param atS undefined to remove the mark */
  mark(atS: number | undefined): void {
    if (atS === this.#markedS) return
    this.#markedS = atS
    this.redraw()
  }

  /** Redraws the chart in the current colours. */
  redraw(): void {
    this.#plot?.redraw(false)
  }

  #size(): { width: number; height: number } {
    return { width: Math.max(this.element.clientWidth, 1), height: heightPx }
  }

  #options(chart: Chart, lines: readonly Line[]): Plot.Options {
    return {
      ...this.#size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'service' } },
      hooks: {
        setCursor: [({ cursor: { idx }, data }) => this.onCursor(data[0][idx ?? -1])],
        draw: [(plot) => this.#drawMark(plot)],
      },
      scales: {
        x: { time: false, range: () => [this.#fromS, this.#untilS] },
        y: { range: () => [0, this.#highest * 1.05 || 1] },
      },
      axes: [
        { ...axisColours, size: 28, space: 70, incrs: [10, 30, 60, 120, 300], values: (_, at) => clockTimes(at) },
        {
          ...axisColours,
          size: valuesPx,
          values: (_, values) => values.map(chart.format),
          ...(chart.round && { incrs: increments[chart.round] }),
        },
      ],
      series: [{}, ...lines.map(seriesOf)],
    }
  }

  #drawMark({ ctx, bbox: { top, height }, valToPos }: Plot): void {
    if (this.#markedS === undefined) return
    ctx.fillStyle = colour('--text')
    ctx.fillRect(Math.round(valToPos(this.#markedS, 'x', true)), top, devicePixelRatio, height)
  }
}

/** The times of day, without seconds if all of them are whole minutes. */
function clockTimes(atS: readonly number[]): string[] {
  const withSeconds = atS.some((s) => s % 60 !== 0)
  return atS.map((s) => formatClock(s, withSeconds))
}

const axisColours: Plot.Axis = {
  font: '12px system-ui, sans-serif',
  stroke: () => colour('--quiet'),
  grid: { stroke: () => colour('--grid'), width: 1 },
  ticks: { show: false },
}

function seriesOf({ name, style }: Line): Plot.Series {
  const stroke = (): string => colour(`--chart-${style.colour}`)
  const filter: Plot.Series.Points.Filter = ({ data }, at) => isolatedIn(data[at] ?? [])
  const points = { show: false, filter, size: 3, fill: stroke }
  return { label: name, stroke, width: 1.5, dash: [...dashesPx[style.dash]], points }
}

/** The indexes of values between two gaps, such as two failed requests; no line connects these values. */
function isolatedIn(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number): boolean => (values[index] ?? null) === null
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  )
}

/** The highest value on the scale. An upper limit counts once the values reach half of it; a lower one, if they are near it. */
function highest({ lines }: Chart, moments: readonly Moment[]): number {
  const valuesIn = (of: Line['limit']): number[] =>
    lines.flatMap((line) => (line.limit === of ? valuesOf(line, moments) : [])).filter((value) => value !== null)
  const reached = Math.max(0, ...valuesIn(undefined))
  const lowest = Math.min(...valuesIn(undefined))
  const upper = Math.max(0, ...valuesIn('upper'))
  const lower = Math.max(0, ...valuesIn('lower'))
  return Math.max(reached, upper <= 2 * reached ? upper : 0, lowest <= 2 * lower ? lower : 0)
}
