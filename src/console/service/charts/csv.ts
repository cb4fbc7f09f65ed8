/** The points of all charts as comma-separated values according to RFC 4180. Pure. */
import type { Moment } from '../../../ops/figures/console-state.js'
import { type Chart, valuesOf } from './charts.js'

/** A line of names, then one line per moment. Unknown values are empty; durations are in seconds. */
export function csvOf(charts: readonly Chart[], moments: readonly Moment[]): string[] {
  const columns = charts.flatMap((chart) =>
    chart.lines.map((line) => ({ name: `${chart.title}: ${line.name}`, values: valuesOf(line, moments) })),
  )
  const names = ['Time', ...columns.map(({ name }) => name)]
  const rows = moments.map(({ atS }, index) => [
    new Date(atS * 1000).toISOString(),
    ...columns.map(({ values }) => String(values[index] ?? '')),
  ])
  return [names, ...rows].map((cells) => `${cells.map(quoted).join(',')}\r\n`)
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
