/** The service page finds everything that it shows in the metrics of a service, now and in the past. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { readDocument, root } from '../support/documents.js'
import { metricNames, metricsIn } from '../support/metric-table.js'
import { get } from '../support/service/metrics.js'
import { startServer } from '../support/service/server.js'

t.test('everything that the page shows is reported under the names it reads', async (t) => {
  const server = await startServer(t, { workers: 1, dataDir: join(t.testdir(), 'db') })
  await server.post('addAndSet', { path: 'a', value: 1 })
  const { code, stderr } = await server.command('backup', join(t.testdirName, 'copy.mdb'))
  t.equal(code, 0, stderr)
  const { text } = await get(`${server.adminUrl}/metrics`)
  const { certificateExpiresS, ...reading } = readingOf(text, { atS: 7, tookS: 0.5, serviceS: 8 })
  t.equal(certificateExpiresS, undefined, 'there is no certificate')
  const missing = Object.entries(reading).filter(([, value]) => value === undefined)
  t.strictSame(missing, [])
  t.match(reading, {
    atS: 7,
    serviceS: 8,
    version,
    node: process.version,
    workers: 1,
    workerVersions: [{ version, workers: 1 }],
    reload: { successful: true },
    topics: 1,
    answers: { '2xx': 1, '5xx': 0 },
    perWorker: [{ pid: String(server.workerPids()[0]), residentBytes: Number, loopDelayP99S: Number }],
  })
  t.equal(reading.requestSeconds.bounds.at(-1), Infinity)
  t.equal(reading.requestSeconds.counts.at(-1), reading.answers['2xx'] + reading.answers['4xx'])
})

t.test('every metric that the page names is in a table', async (t) => {
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
