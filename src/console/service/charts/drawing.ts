/**
 * One chart on the screen, drawn by uPlot: its colours are the style sheet's, its width is its element's. What is drawn
 * is for charts.ts; the values as text are the page's, so a canvas is hidden from screen readers.
 */
/*! uPlot: Copyright Leon Sorokin, MIT License, https://github.com/leeoniya/uPlot */
import Plot from 'uplot'
import type { Moment } from '../../../ops/figures/console-state.js'
import { formatClock } from '../../shared/formats.js'
import { historyS } from '../history.js'
import { type Chart, type Line, valuesOf } from './charts.js'
import { dashesPx } from './line-styles.js'

const heightPx = 150

/** Room for the longest value next to an axis. */
const valuesPx = 66

/** Steps of an axis whose values are not any number. */
const increments = {
  whole: Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(),
  binary: Array.from({ length: 60 }, (_, power) => 2 ** power),
}

/** Shown until there are ten minutes, so that the first moments are more than a dot. */
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

  /** @param onCursor gets the moment of the pointer, in seconds since the epoch; undefined when it leaves */
  constructor(private readonly onCursor: (atS: number | undefined) => void) {
    this.element.className = 'plot'
    this.element.ariaHidden = 'true'
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.element)
  }

  /** Spans the ten minutes until `untilS`, or the part of them that has moments. */
  show(chart: Chart, moments: readonly Moment[], untilS: number): void {
    const firstS = moments[0]?.atS ?? untilS
    this.#fromS = Math.min(untilS - shownSMin, Math.max(untilS - historyS, firstS))
    this.#untilS = untilS
    this.#highest = highest(chart, moments)
    // Later lines are drawn above.
    const lines = chart.lines.toReversed()
    const data: Plot.AlignedData = [moments.map(({ atS }) => atS), ...lines.map((line) => valuesOf(line, moments))]
    const drawnLines = JSON.stringify(lines.map(({ name, style }) => [name, style]))
    if (this.#plot !== undefined && drawnLines === this.#drawnLines) return this.#plot.setData(data)
    this.#plot?.destroy()
    this.#drawnLines = drawnLines
    this.#plot = new Plot(this.#options(chart, lines), data, this.element)
  }

  /** @param atS undefined for no mark */
  mark(atS: number | undefined): void {
    if (atS === this.#markedS) return
    this.#markedS = atS
    this.redraw()
  }

  /** Draws again in the current colours. */
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

/** Without seconds if these are always 0. */
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

/** The places of values between two gaps, through which no line goes, as between two failed requests. */
function isolatedIn(values: ArrayLike<number | null | undefined>): number[] {
  const isGap = (index: number): boolean => (values[index] ?? null) === null
  return Array.from(values, (_, index) => index).filter(
    (index) => !isGap(index) && isGap(index - 1) && isGap(index + 1),
  )
}

/** The value that a chart has room for: a limit counts once the lines are half way to it, or beyond it. */
function highest({ lines }: Chart, moments: readonly Moment[]): number {
  const valuesIn = (of: Line['limit']): number[] =>
    lines.flatMap((line) => (line.limit === of ? valuesOf(line, moments) : [])).filter((value) => value !== null)
  const reached = Math.max(0, ...valuesIn(undefined))
  const lowest = Math.min(...valuesIn(undefined))
  const upper = Math.max(0, ...valuesIn('upper'))
  const lower = Math.max(0, ...valuesIn('lower'))
  return Math.max(reached, upper <= 2 * reached ? upper : 0, lowest <= 2 * lower ? lower : 0)
}
