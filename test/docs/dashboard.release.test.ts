/**
 * docs/monitoring/grafana.json is what `npm run docs:dashboard` makes, is a dashboard that Grafana can show, and has every
 * metric of the service and no other.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { dashboardFile, dashboardText, metricsIn } from '../../dist-scripts/dashboard.js'
import { notShown, rows } from '../../dist-scripts/dashboard-panels.js'
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
  t.strictSame(metricsIn('rate(topicd_gone_total[5m]) + topicd_commit_writes_sum', known), [
    'topicd_gone_total',
    'topicd_commit_writes',
  ])
})

/** Pairs of panels that cover the same place, and panels that are wider than the grid. */
function misplaced(all: readonly PanelJson[]): string[] {
  const overlap = (a: PanelJson['gridPos'], b: PanelJson['gridPos']): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
  return all.flatMap((panel, index) => [
    ...(panel.gridPos.x + panel.gridPos.w > 24 ? [`${panel.title} is too wide`] : []),
    ...all
      .slice(index + 1)
      .filter(({ gridPos }) => overlap(panel.gridPos, gridPos))
      .map(({ title }) => `${panel.title} / ${title}`),
  ])
}

t.test('panels have ids, places and data sources of their own', (t) => {
  t.equal(dashboard.schemaVersion, 39)
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const shown of [dashboard.panels, ...dashboard.panels.map((row) => [row, ...(row.panels ?? [])])])
    t.strictSame(misplaced(shown), [])
  t.ok(misplaced([...panels, ...panels.slice(1, 2)]).length > 0, 'a planted overlap is found')
  t.strictSame(
    panels.filter(({ type }) => type === 'row').map(({ title }) => title),
    rows.map(({ title }) => title),
  )
  t.strictSame(
    panels.filter(({ type }) => type !== 'row').map(({ title }) => title),
    rows.flatMap(({ panels }) => panels.map(({ title }) => title)),
    'with every panel',
  )
  for (const panel of panels.filter(({ type }) => type !== 'row')) {
    t.equal(panel.datasource?.uid, '$' + '{datasource}', panel.title)
    t.match(panel.description, /^[A-Z].+\.$/, `${panel.title} is explained`)
    const { targets = [] } = panel
    t.ok(targets.length > 0 && new Set(targets.map(({ refId }) => refId)).size === targets.length, panel.title)
    for (const { expr } of targets) t.match(expr, 'instance=~"$instance"', panel.title)
  }
  t.end()
})

t.test('a summary comes first, and all other rows are closed', (t) => {
  const [summary, ...others] = dashboard.panels.filter(({ type }) => type === 'row')
  t.match(summary, { title: 'Summary', collapsed: false, panels: [] })
  for (const { title, collapsed, panels = [] } of others) t.ok(collapsed && panels.length > 0, title)
  const numbers = dashboard.panels.filter(({ type }) => type !== 'row')
  t.ok(numbers.length === 8 && numbers.every(({ type }) => type === 'stat'))
  t.end()
})

t.test('Prometheus can parse every query', { skip: whyNot('promtool') }, (t) => {
  const rules = panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }, index) => ({ record: `query:${index}`, expr: expr.replace('$__rate_interval', '1m') })),
  )
  const check = (list: typeof rules): number | null => {
    const file = join(t.testdir(), 'queries.json')
    // YAML contains JSON. A group may not have two rules of one name and labels, so each rule has a group.
    const groups = list.map((rule, index) => ({ name: `query ${index}`, rules: [rule] }))
    writeFileSync(file, JSON.stringify({ groups }))
    const { status, stderr } = spawnSync('promtool', ['check', 'rules', '--lint=none', file], { encoding: 'utf8' })
    if (list === rules) t.equal(status, 0, stderr)
    return status
  }
  check(rules)
  t.not(check([...rules, { record: 'wrong', expr: 'rate(up)' }]), 0, 'a planted fault is found')
  t.end()
})
