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
  /** Those of a closed row. */
  readonly panels?: readonly PanelJson[]
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}

const dashboard = JSON.parse(readDocument(dashboardFile)) as { schemaVersion: number; panels: readonly PanelJson[] }
/** With those of closed rows. */
const panels = dashboard.panels.flatMap((panel) => [panel, ...(panel.panels ?? [])])

t.test('grafana.json is up to date', async (t) => {
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

t.test('each panel is explained, and shows the chosen data source and instances', async (t) => {
  t.equal(dashboard.schemaVersion, 39)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { title, datasource, description, targets = [] } of panels.filter(({ type }) => type !== 'row')) {
    t.equal(datasource?.uid, '$' + '{datasource}', title)
    t.match(description, /^[A-Z].+\.$/, `${title} is explained`)
    t.ok(targets.length > 0 && new Set(targets.map(({ refId }) => refId)).size === targets.length, title)
    for (const { expr } of targets) t.match(expr, 'instance=~"$instance"', title)
  }
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
