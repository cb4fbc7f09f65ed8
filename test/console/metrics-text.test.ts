/** The page's reader of metrics: every form of a line, and everything that the page needs in what a service reports. */
import t from 'tap'
import { version } from '../../dist/base/version.js'
import { parseMetricsText } from '../../dist/console/service/metrics-text.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { metricsText } from '../../dist-scripts/metric-table.js'

t.test('samples of every form are found by name, with their labels', (t) => {
  const { samples, sum } = parseMetricsText(
    [
      '# HELP a_total About a_total 1.',
      '# TYPE a_total counter',
      'a_total{route="/x",status="200"} 3',
      'a_total{status="500"} 4 1700000000000',
      '',
      'b 1.5e-7',
      'b_more 2',
      'no sample',
      '{a="1"} 2',
      String.raw`keys{key="a\"} 1, \\ \n \t é",n="2"} 5`,
      'up +Inf\ndown -Inf\nplain Inf\nnone NaN\nsome 1\nsome{a="b"} x',
    ].join('\n'),
  )
  t.strictSame(samples('a_total'), [
    { labels: { route: '/x', status: '200' }, value: 3 },
    { labels: { status: '500' }, value: 4 },
  ])
  t.equal(sum('a_total'), 7)
  t.equal(sum('b'), 1.5e-7)
  t.equal(sum('c'), undefined)
  t.strictSame(samples('c'), [])
  const quoted = { labels: { key: 'a"} 1, \\ \n \\t é', n: '2' }, value: 5 }
  t.strictSame(samples('keys'), [quoted], 'a label may contain what ends it elsewhere')
  t.strictSame(['up', 'down', 'plain', 'none', 'some'].map(sum), [Infinity, -Infinity, Infinity, undefined, 1])
  t.end()
})

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

t.test('requests are counted by the class of their status, and a missing metric is undefined', (t) => {
  const line = (status: number, count: number): string => `topicd_requests_total{route="r",status="${status}"} ${count}`
  const text = [line(200, 1), line(304, 2), line(400, 4), line(499, 8), line(500, 16), line(507, 32)].join('\n')
  t.strictSame(readingOf(text, { atS: 1, tookS: 0, serviceS: 1 }).answers, { '2xx': 3, '4xx': 12, '5xx': 48 })
  const reading = readingOf('', { atS: 1, tookS: 0, serviceS: 1 })
  t.strictSame(
    [reading.topics, reading.diskFreeBytesMin, reading.reload, reading.connections],
    [undefined, undefined, undefined, undefined],
  )
  t.strictSame(reading.answers, { '2xx': 0, '4xx': 0, '5xx': 0 })
  t.strictSame(reading.perWorker, [])
  t.end()
})
