/** What the page of the service says in words: numbers, times, facts, readiness, and how high charts are. */
import t, { type Test } from 'tap'
import { type Chart, chartsOf, colourOf, highest } from '../../dist/console/service/charts.js'
import { factsOf } from '../../dist/console/service/facts.js'
import * as formats from '../../dist/console/service/formats.js'
import { History, type Moment } from '../../dist/console/service/history.js'
import { readingOf } from '../../dist/console/service/reading.js'
import { ServiceState } from '../../dist/console/service/service-state.js'

const day = 24 * 60 * 60

function check(t: Test, format: (value: number) => string, cases: readonly (readonly [number, string])[]): void {
  for (const [value, expected] of cases) t.equal(format(value), expected, `${value}`)
  t.end()
}

t.test('numbers have three digits, or all before the point', (t) => {
  check(t, formats.formatCount, [
    [0, '0'],
    [0.12345, '0.123'],
    [1.5, '1.5'],
    [12.345, '12.3'],
    [99.95, '100'],
    [1234.5, '1,235'],
  ])
})

t.test('bytes have the unit that a person compares', (t) => {
  check(t, formats.formatBytes, [
    [0, '0 B'],
    [1023, '1,023 B'],
    [1024, '1 KiB'],
    [1536, '1.5 KiB'],
    [256 * 1024 * 1024, '256 MiB'],
    [2 ** 62, '4,096 PiB'],
  ])
})

t.test('short durations', (t) => {
  check(t, formats.formatSeconds, [
    [0, '0 ms'],
    [0.0001234, '123 µs'],
    [0.001, '1 ms'],
    [0.9994, '999 ms'],
    [1, '1 s'],
    [12.34, '12.3 s'],
  ])
})

t.test('long durations have their two largest units', (t) => {
  check(t, formats.formatSpan, [
    [-3, '0 s'],
    [59.9, '59 s'],
    [60, '1 min 0 s'],
    [3599, '59 min 59 s'],
    [3600, '1 h 0 min'],
    [day - 1, '23 h 59 min'],
    [day, '1 d 0 h'],
    [400 * day + 7200, '400 d 2 h'],
  ])
})

t.test('times are of the place where the page is read', (t) => {
  const local = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000
  t.equal(formats.formatTime(local), '2026-01-02 03:04')
  t.equal(formats.formatClock(local), '03:04:05')
  t.equal(formats.formatClock(local, false), '03:04')
  t.end()
})

/** The facts of a service with these metrics, at 1,000,000 s; a bad one ends with "!". */
function facts(...lines: readonly string[]): Record<string, string> {
  const reading = readingOf(lines.join('\n'), 5, 1_000_000)
  return Object.fromEntries(factsOf(reading).map(({ name, text, isBad }) => [name, isBad ? `${text}!` : text]))
}

t.test('versions are named where they differ', (t) => {
  const build = 'topicd_build_info{version="2.0",node="v20.1.0"} 1'
  const of = (version: string, count: number): string => `topicd_workers_by_version{version="${version}"} ${count}`
  t.match(facts(build, 'topicd_workers 3', of('2.0', 3)), { Version: '2.0', 'Node.js': '20.1.0', Workers: '3' })
  t.match(facts(build, 'topicd_workers 3', of('2.1', 3)), { Workers: '3 of version 2.1' })
  t.match(facts(build, of('2.0', 1), of('2.1', 2)), { Workers: '1 of version 2.0, 2 of version 2.1!' })
  t.match(facts(build, 'topicd_workers 0'), { Workers: '0!' })
  t.match(facts(), { Version: '–', 'Node.js': '–', Workers: '–', Topics: '–', 'Size of the store': '–' })
  t.end()
})

t.test('the last reload, with its time by the clock of the service', (t) => {
  const reload = (successful: number): string =>
    facts(
      `topicd_config_last_reload_successful ${successful}`,
      'topicd_config_last_reload_success_timestamp_seconds 999940',
    )['Last reload'] ?? ''
  t.match(reload(1), /^succeeded 1 min 0 s ago, 1970-01-12 \d\d:\d\d$/)
  t.match(reload(0), /^failed; the settings are those of 1 min 0 s ago, .*!$/)
  t.match(facts('process_start_time_seconds 996400').Started, /^1 h 0 min ago, /)
  t.end()
})

t.test('the last backup: its age, or that there is none; nothing where backups are another engine’s', (t) => {
  const lmdb = ['topicd_topics 1', 'topicd_disk_free_bytes_min 1']
  t.match(facts(...lmdb, 'topicd_last_backup_timestamp_seconds 913600')['Last backup'], /^1 d 0 h ago, /)
  t.equal(facts(...lmdb)['Last backup'], 'none yet')
  t.equal(facts('topicd_topics 1')['Last backup'], undefined)
  t.equal(facts('topicd_disk_free_bytes_min 1')['Last backup'], '–', 'the store could not be asked')
  t.end()
})

t.test('the certificate is bad with less than 14 days left', (t) => {
  const ends = (inS: number): string | undefined =>
    facts(`topicd_certificate_end_timestamp_seconds ${1_000_000 + inS}`).Certificate
  t.equal(facts().Certificate, undefined)
  t.match(ends(14 * day), /^ends in 14 d 0 h, on 1970-01-26 \d\d:\d\d$/)
  t.match(ends(14 * day - 1), /^ends in 13 d 23 h, on .*!$/)
  t.match(ends(0), /^ended on .*!$/)
  t.end()
})

t.test('readiness, its reasons, and a service that does not answer', (t) => {
  const state = new ServiceState()
  const answer = (status: number, text: string): void =>
    state.answered(1, { readiness: { status, text }, metrics: '', serviceS: undefined })
  t.match(state.summary, { kind: 'waiting' })
  answer(200, 'ready\n')
  t.strictSame(state.summary, { kind: 'ready', title: 'Ready', reasons: [] })
  answer(503, 'not ready\n1 of 2 workers serve\nworker 7 cannot write: <b>\n')
  t.strictSame(state.summary, {
    kind: 'not ready',
    title: 'Not ready',
    reasons: ['1 of 2 workers serve', 'worker 7 cannot write: <b>'],
  })
  answer(502, 'Bad gateway\n')
  t.strictSame(state.summary.reasons, ['Bad gateway'], 'of a proxy')
  const atS = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000
  state.failed(atS, 'Refused.')
  state.failed(atS + 2, 'Too slow.')
  t.strictSame(state.summary, { kind: 'silent', title: 'No answer since 03:04:05', reasons: ['Too slow.'] })
  t.equal(state.history.moments.length, 2)
  answer(200, 'ready\n')
  t.equal(state.summary.kind, 'ready')
  t.end()
})

function momentsOf(...lines: readonly string[]): readonly Moment[] {
  const history = new History()
  history.add(readingOf(lines.join('\n'), 1, 1))
  return history.moments
}

const chartOf = (title: string, moments: readonly Moment[]): Chart | undefined =>
  chartsOf(moments).find((chart) => chart.title === title)

t.test('a chart is as high as its lines, and as a limit once they are half way to it', (t) => {
  const high = (open: number): number | undefined => {
    const moments = momentsOf(`topicd_connections ${open}`, 'topicd_connections_max 100')
    const chart = chartOf('Connections', moments)
    return chart && highest(chart, moments)
  }
  t.equal(high(0), 0)
  t.equal(high(49), 49)
  t.equal(high(50), 100)
  t.equal(high(120), 120)
  t.end()
})

t.test('the disk has a chart if the service has a mark for it', (t) => {
  const title = 'Free space on the disk'
  t.ok(chartOf(title, momentsOf('topicd_disk_free_bytes_min 1', 'topicd_disk_free_bytes 2')))
  t.notOk(chartOf(title, momentsOf('topicd_topics 1')))
  t.notOk(chartOf(title, []))
  t.end()
})

t.test('each line has one of six colours, and bad ones are red', (t) => {
  const lines = [...Array(7).keys()].map((index) => ({ name: `${index}`, value: () => 1 }))
  t.strictSame(lines.map(colourOf), [1, 2, 3, 4, 5, 6, 1])
  t.equal(colourOf({ name: 'limit', value: () => 1, isLimit: true }, 1), 5)
  t.equal(colourOf({ name: 'errors', value: () => 1, colour: 5 }, 2), 5)
  t.end()
})
