/** docs/monitoring/grafana.json is a dashboard that Grafana can show, with exactly the metrics of the service. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { panels, queries } from '../support/dashboard.js'
import { whyNot } from '../support/machines/alerts.js'
import { metricNames, metricsIn } from '../support/metric-table.js'
import { scrape } from '../support/service/metrics.js'
import { startServer } from '../support/service/server.js'

/** The sum of user and system time, which are shown stacked. */
const notShown = 'process_cpu_seconds_total'

t.test('the table of metrics lists exactly the metrics that a running service reports', async (t) => {
  const server = await startServer(t, { workers: 2 })
  const { code, stderr } = await server.command('backup', join(t.testdirName, 'copy.mdb'))
  t.equal(code, 0, stderr)
  const { types } = await scrape(server.adminUrl)
  const withoutTls = [...metricNames].filter((name) => !name.startsWith('topicd_certificate_'))
  t.strictSame([...types.keys()].sort(), withoutTls.sort())
})

t.test('the panels use all metrics except one, and no unknown metric', async (t) => {
  const inPanels = new Set(queries.flatMap(metricsIn))
  t.strictSame([...inPanels].sort(), [...metricNames].filter((name) => name !== notShown).sort())
})

t.test('each panel has a description and shows the chosen data source and instances', async (t) => {
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { title, datasource, description, targets = [] } of panels.filter(({ type }) => type !== 'row')) {
    t.equal(datasource?.uid, '$' + '{datasource}', title)
    t.match(description, /^[A-Z].+\.$/, `${title} has a description`)
    t.ok(targets.length > 0 && new Set(targets.map(({ refId }) => refId)).size === targets.length, title)
    for (const { expr } of targets) t.match(expr, 'instance=~"$instance"', title)
  }
})

t.test('Prometheus can parse every query', { skip: whyNot('promtool') }, async (t) => {
  const exprs = queries.map((query) => query.replace('$__rate_interval', '1m'))
  // YAML contains JSON. A group must not contain two rules with the same name and labels, so each rule has its own group.
  const groups = exprs.map((expr, index) => ({ name: `query ${index}`, rules: [{ record: `query:${index}`, expr }] }))
  const file = join(t.testdir(), 'queries.json')
  writeFileSync(file, JSON.stringify({ groups }))
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', '--lint=none', file], { encoding: 'utf8' })
  t.equal(status, 0, stderr)
})
