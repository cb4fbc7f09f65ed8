/**
 * Makes docs/monitoring/grafana.json from dashboard-panels.ts and the program's metrics. As a program
 * (`npm run docs:dashboard`) it writes the file; the test docs/dashboard compares the two.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Panel, type Row, rows } from './dashboard-panels.js'
import { metricTable } from './metric-table.js'

export const dashboardFile = 'docs/monitoring/grafana.json'

/** A name of one of our metrics in a query, in a rule or in a text. */
const metricName = /\b(?:topicd|process|nodejs)_[a-z0-9_]+\b/g

/** The metrics that a text names, a histogram's series by the histogram's name. */
export function metricsIn(text: string, known: ReadonlyMap<string, string>): string[] {
  const names = (text.match(metricName) ?? []).map((name) => {
    const histogram = name.replace(/_(bucket|sum|count)$/, '')
    return known.has(histogram) ? histogram : name
  })
  return [...new Set(names)]
}

/** Grafana divides a row's width into 24. */
const gridWidth = 24
const chartGrid = { inLine: 3, height: 8 }
const summaryGrid = { inLine: 4, height: 4 }

const datasource = { type: 'prometheus', uid: '$' + '{datasource}' }

/** The unit that a metric's name ends with. */
function unitOf(name = ''): string {
  const [, unit = ''] = /_(seconds|bytes)(?:_min)?$/.exec(name) ?? []
  return { seconds: 's', bytes: 'bytes' }[unit] ?? 'short'
}

function panelJson(panel: Panel, helps: ReadonlyMap<string, string>, isSummary: boolean): object {
  const metrics = panel.queries.flatMap(({ expr }) => metricsIn(expr, helps))
  const explanations = new Set(metrics.map((name) => helps.get(name)))
  const unit = panel.unit ?? unitOf(metrics[0])
  return {
    ...(isSummary ? statLook(panel, unit) : chartLook(unit)),
    title: panel.title,
    description: [...explanations].join(' '),
    datasource,
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  }
}

function chartLook(unit: string): object {
  return {
    type: 'timeseries',
    fieldConfig: { defaults: { unit, custom: { axisSoftMin: 0 } }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom', showLegend: true }, tooltip: { mode: 'multi' } },
  }
}

/** The last value as a number, with its course behind it. */
function statLook({ bad }: Panel, unit: string): object {
  return {
    type: 'stat',
    fieldConfig: { defaults: { unit, thresholds: { mode: 'absolute', steps: stepsOf(bad) } }, overrides: [] },
    options: {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      colorMode: 'value',
      graphMode: 'area',
      textMode: 'auto',
    },
  }
}

/** The first step is without a limit. */
function stepsOf(bad: Panel['bad']): object[] {
  if (bad === undefined) return [{ color: 'text', value: null }]
  const [below, from, limit] = 'below' in bad ? ['red', 'green', bad.below] : ['green', 'red', bad.from]
  return [
    { color: below, value: null },
    { color: from, value: limit },
  ]
}

/** The rows, each below the one before it. A closed row has its panels within it, which are placed when it is opened. */
function layOut(allRows: readonly Row[], helps: ReadonlyMap<string, string>): object[] {
  let id = 0
  let y = 0
  return allRows.flatMap(({ title, panels, isSummary = false }) => {
    const row = { id: ++id, type: 'row', title, collapsed: !isSummary, gridPos: { x: 0, y, w: gridWidth, h: 1 } }
    y += 1
    const { inLine, height } = isSummary ? summaryGrid : chartGrid
    const width = gridWidth / inLine
    const placed = panels.map((panel, index) => {
      const place = { x: (index % inLine) * width, y: y + Math.floor(index / inLine) * height, w: width, h: height }
      return { id: ++id, ...panelJson(panel, helps, isSummary), gridPos: place }
    })
    if (!isSummary) return [{ ...row, panels: placed }]
    y += Math.ceil(panels.length / inLine) * height
    return [{ ...row, panels: [] }, ...placed]
  })
}

const variables = [
  { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' },
  {
    type: 'query',
    name: 'instance',
    label: 'Instance',
    datasource,
    definition: 'label_values(topicd_ready, instance)',
    query: { query: 'label_values(topicd_ready, instance)', refId: 'instances' },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  },
]

/** The text of the file. */
export async function dashboardText(): Promise<string> {
  const dashboard = {
    uid: 'topicd',
    title: 'topicd',
    tags: ['topicd'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    time: { from: 'now-6h', to: 'now' },
    refresh: '30s',
    templating: { list: variables },
    annotations: { list: [] },
    panels: layOut(rows, await metricTable()),
  }
  return `${JSON.stringify(dashboard, null, 2)}\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(join(import.meta.dirname, '..', dashboardFile), await dashboardText())
}
