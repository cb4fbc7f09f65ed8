/** The service page reads only metrics that exist, now and in the past. That it shows them: `console/service-page`. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readDocument, root } from '../support/documents.js'
import { metricNames, metricsIn } from '../support/metric-table.js'

t.test('every metric that the service page names is in a table', async (t) => {
  const folder = 'src/console/service'
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  const sources = [...files.map((name) => `${folder}/${name}`), 'src/ops/metrics/history.ts'].map(readDocument)
  const named = sources.flatMap(metricsIn)
  t.ok(named.length > 30, 'names were found')
  t.strictSame(
    named.filter((name) => !metricNames.has(name)),
    [],
  )
})
