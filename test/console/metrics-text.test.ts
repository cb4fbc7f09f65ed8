/** The page of the service finds everything that it shows in what a service reports. */
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { metricsText } from '../support/metric-table.js'

t.test('everything that the page shows is reported under the names it reads', async (t) => {
  const reading = readingOf(await metricsText(), { atS: 7, tookS: 0.5, serviceS: 8 })
  const missing = Object.entries(reading).filter(([, value]) => value === undefined)
  t.strictSame(missing, [])
  t.match(reading, {
    atS: 7,
    serviceS: 8,
    version,
    node: process.version,
    workers: 1,
    workerVersions: [{ version: '1', workers: 1 }],
    reload: { successful: true },
    backupS: 0.001,
    certificateExpiresS: 0.001,
    answers: { '2xx': 1, '4xx': 0, '5xx': 0 },
    requestSeconds: { bounds: [1, Infinity], counts: [0, 0] },
    perWorker: [{ pid: '1', residentBytes: 0, loopDelayP99S: 0 }],
    connectionsMax: 1,
  })
})
