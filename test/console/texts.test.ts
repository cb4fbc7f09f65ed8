/** What the page of the service says in words: numbers, times, facts, and readiness. */
import t, { type Test } from 'tap'
import { factsOf } from '../../dist/console/service/facts.js'
import * as formats from '../../dist/console/service/formats.js'
import { type Reading, readingOf } from '../../dist/console/service/reading.js'
import { type Round, ServiceState } from '../../dist/console/service/service-state.js'

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

const readingAt = (serviceS: number, ...lines: readonly string[]) =>
  readingOf(lines.join('\n'), { atS: 5, tookS: 0, serviceS })

/** Of a bad fact, the text ends with "!". */
function textsOf(basis: Parameters<typeof factsOf>[0]): Record<string, string> {
  return Object.fromEntries(factsOf(basis).map(({ name, text, isBad }) => [name, isBad ? `${text}!` : text]))
}

/** The facts of a service with these metrics, at 1,000,000 s. */
function facts(...lines: readonly string[]): Record<string, string> {
  const reading = readingAt(1_000_000, ...lines)
  return textsOf({ reading, first: reading, pageVersion: reading.version })
}

t.test('versions are named where they differ', (t) => {
  const build = 'topicd_build_info{version="2.0",node="v20.1.0"} 1'
  const of = (version: string, count: number): string => `topicd_workers_by_version{version="${version}"} ${count}`
  t.match(facts(build, 'topicd_workers 3', of('2.0', 3)), { Version: '2.0', 'Node.js': '20.1.0', Workers: '3' })
  t.match(facts(build, 'topicd_workers 3', of('2.1', 3)), { Workers: '3 of version 2.1' })
  t.match(facts(build, of('2.0', 1), of('2.1', 2)), {
    Workers: 'several versions: 1 of version 2.0, 2 of version 2.1!',
  })
  t.match(facts(build, 'topicd_workers 0'), { Workers: '0: none serves!' })
  t.match(facts(), { Version: '–', 'Node.js': '–', Workers: '–', Topics: '–', 'Store size': '–' })
  const reading = readingAt(1, build)
  t.match(textsOf({ reading, first: reading, pageVersion: '1.9' }), {
    Version: '2.0; this page is from 1.9: reload it!',
  })
  t.end()
})

t.test('workers that died are bad news for ten minutes', (t) => {
  const at = (serviceS: number, restarts: number) =>
    readingAt(serviceS, `topicd_worker_restarts_total ${restarts}`, 'process_start_time_seconds 1000')
  const said = (first: Reading, reading: Reading): string | undefined =>
    textsOf({ reading, first, pageVersion: undefined })['Worker restarts']
  t.equal(said(at(1100, 0), at(1200, 0)), '0')
  t.equal(said(at(1500, 3), at(1500, 3)), '3, 3 of them recently!', 'all since a start that is not long ago')
  t.equal(said(at(1600, 3), at(1600, 3)), '3', 'nobody knows when')
  t.equal(said(at(5000, 1200), at(5500, 1201)), '1,201, 1 of them recently!')
  t.equal(said(at(5000, 1201), at(5500, 1201)), '1,201')
  t.end()
})

t.test('the writer, its spare, and those that died; nothing where the engine has none', (t) => {
  t.match(facts('topicd_writer_up 1', 'topicd_writer_spare_up 1', 'topicd_writer_restarts_total 0'), {
    Writer: 'running, with a spare',
    'Writer restarts': '0',
  })
  t.match(facts('topicd_writer_up 1', 'topicd_writer_spare_up 0'), { Writer: 'running, without a spare yet' })
  t.match(facts('topicd_writer_up 0', 'topicd_writer_spare_up 1'), { Writer: 'not running: writes are waiting!' })
  t.notMatch(Object.keys(facts()).join(), /Writer/)
  t.end()
})

t.test('the last reload, with its time by the clock of the service', (t) => {
  const reload = (successful: number, startedS = 1): string =>
    facts(
      `process_start_time_seconds ${startedS}`,
      `topicd_config_last_reload_successful ${successful}`,
      'topicd_config_last_reload_success_timestamp_seconds 999940',
    )['Last reload'] ?? ''
  t.match(reload(1), /^1 min 0 s ago, \d\d:\d\d$/)
  t.match(reload(0), /^failed; settings in use since 1 min 0 s ago, .*!$/)
  t.equal(reload(1, 999_940), 'none since the start', 'the start counts as one')
  t.match(reload(1, 999_939.5), /^1 min 0 s ago, /, 'however soon after the start')
  t.match(reload(0, 999_940), /^failed; /)
  t.match(facts('process_start_time_seconds 996400').Started, /^1 h 0 min ago, \d\d:\d\d$/)
  t.match(facts('process_start_time_seconds 100000').Started, /^10 d 10 h ago, 1970-01-02 \d\d:\d\d$/)
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
    facts(`topicd_certificate_expiry_timestamp_seconds ${1_000_000 + inS}`).Certificate
  t.equal(facts().Certificate, undefined)
  t.match(ends(14 * day), /^expires in 14 d 0 h, on 1970-01-26 \d\d:\d\d$/)
  t.match(ends(14 * day - 1), /^expires in 13 d 23 h, on .*: renew it!$/)
  t.match(ends(0), /^expired on .*!$/)
  t.end()
})

const clock = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000

const metrics = { text: 'topicd_build_info{version="2.0"} 1', serviceS: undefined, tookS: 0 }

t.test('readiness, its reasons, and a service that does not answer', (t) => {
  const state = new ServiceState()
  const ask = (askedS: number, readiness: Round['readiness'], of: Round['metrics'] = metrics): void =>
    state.add({ askedS, readiness, metrics: of })
  t.match(state.summary, { kind: 'waiting' })
  ask(clock - 3, { problem: 'Refused.' }, { problem: 'Refused.' })
  t.strictSame(state.summary, { kind: 'silent', title: 'No response', reasons: ['Refused.'] })
  ask(clock - 2, { status: 200, text: 'ready\n' })
  t.strictSame(state.summary, { kind: 'ready', title: 'Ready', reasons: [] })
  ask(clock - 1, { status: 503, text: 'not ready\n1 of 2 workers serve\nworker 7 cannot write: <b>\n' })
  t.strictSame(state.summary, {
    kind: 'not ready',
    title: 'Not ready',
    reasons: ['1 of 2 workers serve', 'worker 7 cannot write: <b>'],
  })
  ask(clock, { status: 502, text: 'Bad gateway\n' })
  t.strictSame(state.summary.reasons, ['Bad gateway'], 'of a proxy')
  ask(clock + 2, { problem: 'Refused.' }, { problem: 'Refused.' })
  ask(clock + 4, { problem: 'Too slow.' }, { problem: 'Too slow.' })
  t.strictSame(state.summary, { kind: 'silent', title: 'No response since 03:04:05', reasons: ['Too slow.'] })
  t.equal(state.history.moments.length, 6)
  ask(clock + 6, { status: 200, text: 'ready\n' })
  t.equal(state.summary.kind, 'ready')
  t.equal(state.pageVersion, '2.0')
  t.end()
})

t.test('without one of the two answers, what the other says is shown', (t) => {
  const state = new ServiceState()
  const failure = { problem: '/metrics returned 500: full' }
  state.add({ askedS: clock, readiness: { status: 503, text: 'not ready\nstopping\n' }, metrics: failure })
  const lacking = 'The metrics cannot be read. /metrics returned 500: full'
  t.strictSame(state.summary, { kind: 'not ready', title: 'Not ready', reasons: ['stopping', lacking] })
  t.equal(state.history.moments[0]?.point, undefined, 'a gap')
  state.add({ askedS: clock + 2, readiness: { status: 200, text: 'ready\n' }, metrics: failure })
  t.strictSame(state.summary, { kind: 'ready', title: 'Ready', reasons: [lacking] })
  state.add({ askedS: clock + 4, readiness: { problem: 'Too slow.' }, metrics })
  t.match(state.summary, { kind: 'not ready', title: 'Readiness unknown', reasons: ['Too slow.'] })
  t.ok(state.history.moments[2]?.point)
  t.end()
})
