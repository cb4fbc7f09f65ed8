/**
 * One chart on the screen, drawn by uPlot: its colours are the style sheet's, its width is its element's. What is drawn
 * is for charts.ts; the values as text are the page's, so a canvas is hidden from screen readers.
 */
import type Plot from 'uplot'
import { type Chart, colourOf, highest, valuesOf } from './charts.js'
import { formatClock } from './formats.js'
import { historyS, type Moment } from './history.js'

const heightPx = 150

/** Room for the longest value beside an axis. */
const valuesPx = 66

/** Between the values beside an axis, for values that are not any number. */
const increments = {
  whole: Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat(),
  binary: Array.from({ length: 60 }, (_, power) => 2 ** power),
}

/** What is shown until there are ten minutes, so that the first moments are more than a dot. */
const shownSMin = 60

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name)

export class Drawing {
  readonly element = document.createElement('div')
  readonly #onCursor: (atS: number | undefined) => void
  #plot: Plot | undefined
  #lineNames = ''
  #fromS = 0
  #untilS = 0
  #highest = 0

  /** @param onCursor told at which moment the pointer is, in seconds since the epoch; undefined when it leaves */
  constructor(onCursor: (atS: number | undefined) => void) {
    this.#onCursor = onCursor
    this.element.className = 'plot'
    this.element.ariaHidden = 'true'
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.element)
  }

  /** Draws these moments: of the ten minutes until `untilS`, or of what there is of them. */
  show(chart: Chart, moments: readonly Moment[], untilS: number): void {
    const firstS = moments[0]?.atS ?? untilS
    this.#fromS = Math.min(untilS - shownSMin, Math.max(untilS - historyS, firstS))
    this.#untilS = untilS
    this.#highest = highest(chart, moments)
    const data: Plot.AlignedData = [
      moments.map(({ atS }) => atS),
      ...chart.lines.map((line) => valuesOf(line, moments)),
    ]
    const names = chart.lines.map(({ name }) => name).join()
    if (this.#plot !== undefined && names === this.#lineNames) return this.#plot.setData(data)
    this.#plot?.destroy()
    this.#lineNames = names
    this.#plot = new uPlot(this.#options(chart), data, this.element)
  }

  /** Draws again in the colours of now. */
  redraw(): void {
    this.#plot?.redraw(false)
  }

  #size(): { width: number; height: number } {
    return { width: Math.max(this.element.clientWidth, 1), height: heightPx }
  }

  #options(chart: Chart): Plot.Options {
    return {
      ...this.#size(),
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: 'service' } },
      hooks: { setCursor: [({ cursor: { idx }, data }) => this.#onCursor(data[0][idx ?? -1])] },
      scales: {
        x: { time: false, range: () => [this.#fromS, this.#untilS] },
        y: { range: () => [0, this.#highest * 1.05 || 1] },
      },
      axes: [
        { ...axisColours, size: 28, space: 70, incrs: [10, 30, 60, 120, 300], values: (_, at) => clocks(at) },
        {
          ...axisColours,
          size: valuesPx,
          values: (_, values) => values.map(chart.format),
          ...(chart.round && { incrs: increments[chart.round] }),
        },
      ],
      series: [{}, ...chart.lines.map(seriesOf)],
    }
  }
}

/** Without seconds where they are always 0. */
function clocks(atS: readonly number[]): string[] {
  const withSeconds = atS.some((s) => s % 60 !== 0)
  return atS.map((s) => formatClock(s, withSeconds))
}

const axisColours: Plot.Axis = {
  font: '12px system-ui, sans-serif',
  stroke: () => colour('--quiet'),
  grid: { stroke: () => colour('--grid'), width: 1 },
  ticks: { show: false },
}

function seriesOf(line: Chart['lines'][number], index: number): Plot.Series {
  const stroke = (): string => colour(`--chart-${colourOf(line, index)}`)
  return { label: line.name, stroke, width: 1.5, points: { show: false }, ...(line.isLimit && { dash: [6, 4] }) }
}
