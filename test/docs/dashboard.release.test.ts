/**
 * docs/monitoring/grafana.json is what `npm run docs:dashboard` makes, is a dashboard that Grafana can show, and has every
 * metric of the service and no other.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dashboardFile, dashboardText, metricsIn } from '../../dist-scripts/dashboard.js'
import { notShown } from '../../dist-scripts/dashboard-panels.js'
import { metricTable } from '../../dist-scripts/metric-table.js'
import { readDocument } from '../support/documents.js'
import { whyNot } from '../support/machines/alerts.js'
import { scrape } from '../support/service/metrics.js'
import { startServer } from '../support/service/server.js'

interface PanelJson {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: { readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly collapsed?: boolean
  /** Those of a closed row. */
  readonly panels?: readonly PanelJson[]
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

const dashboard = JSON.parse(readDocument(dashboardFile)) as { schemaVersion: number; panels: readonly PanelJson[] }
/** With those of closed rows. */
const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])

t.test('the file is up to date', async (t) => {
  t.equal(readDocument(dashboardFile), await dashboardText(), '"npm run docs:dashboard" updates it')
})

t.test('the table of metrics has what a running service reports', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const { code, stderr } = await server.command('backup', join(t.testdirName, 'copy.mdb'))
  t.equal(code, 0, stderr)
  const { types } = await scrape(server.adminUrl)
  const withoutTls = [...(await metricTable()).keys()].filter((name) => !name.startsWith('topicd_certificate_'))
  t.strictSame([...types.keys()].sort(), withoutTls.sort())
})

t.test('every metric is in a panel or on the list of exceptions, and no panel names another', async (t) => {
  const known = await metricTable()
  const inPanels = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr, known)))
  t.strictSame([...new Set([...inPanels, ...notShown.keys()])].sort(), [...known.keys()].sort())
  t.strictSame(
    inPanels.filter((name) => notShown.has(name)),
    [],
    'exceptions are in no panel',
  )
})

/** Pairs of panels that cover the same place, and panels that are wider than the grid. */
function misplaced(all: readonly PanelJson[]): string[] {
  const overlap = (a: PanelJson['gridPos'], b: PanelJson['gridPos']): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
  return all
    .filter(
      ({ gridPos }, index) =>
        gridPos.x + gridPos.w > 24 || all.slice(0, index).some((b) => overlap(b.gridPos, gridPos)),
    )
    .map(({ title }) => title)
}

t.test(
  'each panel has its own id, place and explanation, and shows the chosen data source and instances',
  async (t) => {
    t.equal(dashboard.schemaVersion, 39)
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    for (const shown of [dashboard.panels, ...dashboard.panels.map((row) => [row, ...(row.panels ?? [])])])
      t.strictSame(misplaced(shown), [])
    for (const { title, datasource, description, targets = [] } of panels.filter(({ type }) => type !== 'row')) {
      t.equal(datasource?.uid, '$' + '{datasource}', title)
      t.match(description, /^[A-Z].+\.$/, `${title} is explained`)
      t.ok(targets.length > 0 && new Set(targets.map(({ refId }) => refId)).size === targets.length, title)
      for (const { expr } of targets) t.match(expr, 'instance=~"$instance"', title)
    }
  },
)

t.test('a summary comes first, and all other rows are closed', async (t) => {
  const [summary, ...others] = dashboard.panels.filter(({ type }) => type === 'row')
  t.match(summary, { title: 'Summary', collapsed: false, panels: [] })
  for (const { title, collapsed, panels = [] } of others) t.ok(collapsed && panels.length > 0, title)
  const numbers = dashboard.panels.filter(({ type }) => type !== 'row')
  t.ok(numbers.length === 8 && numbers.every(({ type }) => type === 'stat'))
})

t.test('Prometheus can parse every query', { skip: whyNot('promtool') }, async (t) => {
  const queries = panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replace('$__rate_interval', '1m')),
  )
  // YAML contains JSON. A group may not have two rules of one name and labels, so each rule has a group.
  const groups = queries.map((expr, index) => ({ name: `query ${index}`, rules: [{ record: `query:${index}`, expr }] }))
  const file = join(t.testdir(), 'queries.json')
  writeFileSync(file, JSON.stringify({ groups }))
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', '--lint=none', file], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
})
