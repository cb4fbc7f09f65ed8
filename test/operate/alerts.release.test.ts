/**
 * The alerting rules of docs/monitoring: promtool finds no fault in them, each fires and stays quiet as its cases require, and
 * docs/monitor.md explains each of them.
 */
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { anchorsOf, readDocument, root } from '../support/documents.js'
import { alerts, alertsFile, whyNot } from '../support/machines/alerts.js'
import { metricNames, metricsIn } from '../support/metric-table.js'

const casesFile = 'docs/monitoring/alerts.test.yml'

const promtool = (...args: readonly string[]) => spawnSync('promtool', args, { cwd: root, encoding: 'utf8' })

t.test('promtool finds no fault in the rules', { skip: whyNot('promtool') }, (t) => {
  const checked = promtool('check', 'rules', '--lint=all', '--lint-fatal', alertsFile)
  t.equal(checked.status, 0, checked.stderr)
  t.match(checked.stdout, `${alerts.length} rules found`)
  t.end()
})

t.test('each alert fires and stays quiet as its test cases require', { skip: whyNot('promtool') }, (t) => {
  const tested = promtool('test', 'rules', casesFile)
  t.equal(tested.status, 0, tested.stdout + tested.stderr)
  t.end()
})

t.test('each alert has a severity, a documented section, and test cases', (t) => {
  const cases = readDocument(casesFile).split(/^ {2}- name: /m)
  for (const { name, severity, runbook } of alerts) {
    t.match(severity, /^(critical|warning)$/, name)
    const [page = '', anchor] = runbook.split('#')
    const anchors = anchorsOf(readDocument(page))
    t.ok(anchor === undefined || anchors.includes(anchor), `${name}: ${runbook}`)
    const own = cases.find((text) => text.startsWith(`${name}\n`)) ?? ''
    t.match(own, `ALERTS{alertname="${name}",alertstate="firing",severity="${severity}"}`)
    for (const part of ['instance="fires"', 'instance="quiet', 'exp_samples: []', "exp_samples: [{ labels: '{instance"])
      t.match(own, part, `${name}: ${part}`)
  }
  t.end()
})

t.test('the rules name only existing metrics', async (t) => {
  // The external label looks like a metric.
  const unknown = (text: string): string[] =>
    metricsIn(text).filter((name) => !metricNames.has(name) && name !== 'topicd_docs')
  for (const file of [alertsFile, casesFile]) t.strictSame(unknown(readDocument(file)), [], file)
})

t.test('docs/monitor.md lists exactly the alerts of the rules, under their severities', (t) => {
  const listed = [...readDocument('docs/monitor.md').matchAll(/^\| `(Topicd\w+)` \| (.+?) \|/gm)].map(
    ([, name, severity]) => `${name} ${severity}`,
  )
  t.strictSame(
    listed,
    alerts.map(({ name, severity }) => `${name} ${severity}`),
  )
  t.end()
})
