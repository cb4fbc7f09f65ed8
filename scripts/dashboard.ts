/**
 * Makes docs/monitoring/grafana.json from dashboard-panels.ts and the program's metrics. As a program
 * (`npm run docs:dashboard`) it writes the file; test/docs/dashboard.long.test.ts compares the two.
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
const panelsInRow = 3
const panelHeight = 8

const datasource = { type: 'prometheus', uid: '$' + '{datasource}' }

/** The unit that a metric's name ends with. */
function unitOf(name = ''): string {
  const [, unit = ''] = /_(seconds|bytes)(?:_min)?$/.exec(name) ?? []
  return { seconds: 's', bytes: 'bytes' }[unit] ?? 'short'
}

function panelJson(panel: Panel, helps: ReadonlyMap<string, string>): object {
  const metrics = panel.queries.flatMap(({ expr }) => metricsIn(expr, helps))
  const explanations = new Set(metrics.map((name) => helps.get(name)))
  return {
    type: 'timeseries',
    title: panel.title,
    description: [...explanations].join(' '),
    datasource,
    fieldConfig: {
      defaults: { unit: panel.unit ?? unitOf(metrics[0]), custom: { axisSoftMin: 0 } },
      overrides: [],
    },
    options: { legend: { displayMode: 'list', placement: 'bottom', showLegend: true }, tooltip: { mode: 'multi' } },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat: legend,
    })),
  }
}

/** The panels of all rows, each row below the one before it. */
function layOut(allRows: readonly Row[], helps: ReadonlyMap<string, string>): object[] {
  const panels: object[] = []
  let y = 0
  const place = (panel: object, x: number, w: number, h: number): unknown =>
    panels.push({ id: panels.length + 1, ...panel, gridPos: { x, y, w, h } })
  for (const { title, panels: inRow } of allRows) {
    place({ type: 'row', title, collapsed: false, panels: [] }, 0, gridWidth, 1)
    y += 1
    const width = gridWidth / panelsInRow
    for (const [index, panel] of inRow.entries()) {
      if (index > 0 && index % panelsInRow === 0) y += panelHeight
      place(panelJson(panel, helps), (index % panelsInRow) * width, width, panelHeight)
    }
    y += panelHeight
  }
  return panels
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
