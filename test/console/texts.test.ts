/** What the page of the service says in words: numbers, times and facts. */
import t from 'tap'
import { factsOf } from '../../dist/console/service/facts.js'
import * as formats from '../../dist/console/service/formats.js'
import { readingOf } from '../../dist/console/service/reading.js'

const day = 24 * 60 * 60

const local = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000

t.test('numbers, bytes, durations and times are short and have units', (t) => {
  for (const [format, cases] of [
    [formats.formatCount, ['0 0', '0.12345 0.123', '1.5 1.5', '12.345 12.3', '99.95 100', '1234.5 1,235']],
    [formats.formatBytes, ['0 0 B', '1023 1,023 B', '1024 1 KiB', '1536 1.5 KiB', '4611686018427387904 4,096 PiB']],
    [formats.formatSeconds, ['0 0 ms', '0.0001234 123 µs', '0.001 1 ms', '0.9994 999 ms', '1 1 s', '12.34 12.3 s']],
    [
      formats.formatSpan,
      ['-3 0 s', '59.9 59 s', '60 1 min 0 s', '3599 59 min 59 s', '3600 1 h 0 min', '86399 23 h 59 min'],
    ],
    [formats.formatSpan, ['86400 1 d 0 h', '34567200 400 d 2 h']],
    [formats.formatTime, [`${local} 2026-01-02 03:04`]],
    [formats.formatClock, [`${local} 03:04:05`]],
  ] as const) {
    for (const text of cases) {
      const [value = '', ...expected] = text.split(' ')
      t.equal(format(Number(value)), expected.join(' '), `${format.name}(${value})`)
    }
  }
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

t.test('versions are named if they differ', (t) => {
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

const lmdb = ['topicd_topics 1', 'topicd_disk_free_bytes_min 1']
const reload = (successful: number, startedS: number): string[] => [
  `process_start_time_seconds ${startedS}`,
  `topicd_config_last_reload_successful ${successful}`,
  'topicd_config_last_reload_success_timestamp_seconds 999940',
]
const expiry = (inS: number): string[] => [`topicd_certificate_expiry_timestamp_seconds ${1_000_000 + inS}`]

t.test('a fact has its age, is marked if bad, and omitted if unknown', (t) => {
  for (const [name, lines, expected] of [
    ['Writer', ['topicd_writer_up 1', 'topicd_writer_spare_up 1'], /^running, with a spare$/],
    ['Writer', ['topicd_writer_up 1', 'topicd_writer_spare_up 0'], /^running, without a spare yet$/],
    ['Writer', ['topicd_writer_up 0', 'topicd_writer_spare_up 1'], /^not running: writes are waiting!$/],
    ['Writer restarts', ['topicd_writer_up 1', 'topicd_writer_restarts_total 0'], /^0$/],
    ['Writer', [], undefined],
    ['Last reload', reload(1, 1), /^1 min 0 s ago, \d\d:\d\d$/],
    ['Last reload', reload(0, 1), /^failed; settings in use since 1 min 0 s ago, .*!$/],
    // The start counts as a reload, however soon after it the next one is.
    ['Last reload', reload(1, 999_940), /^none since the start$/],
    ['Last reload', reload(1, 999_939.5), /^1 min 0 s ago, /],
    ['Last reload', reload(0, 999_940), /^failed; /],
    ['Started', ['process_start_time_seconds 996400'], /^1 h 0 min ago, \d\d:\d\d$/],
    ['Started', ['process_start_time_seconds 100000'], /^10 d 10 h ago, 1970-01-02 \d\d:\d\d$/],
    ['Last backup', [...lmdb, 'topicd_last_backup_timestamp_seconds 913600'], /^1 d 0 h ago, /],
    ['Last backup', lmdb, /^none yet$/],
    ['Last backup', ['topicd_topics 1'], undefined],
    // The store could not be asked.
    ['Last backup', ['topicd_disk_free_bytes_min 1'], /^–$/],
    ['Certificate', [], undefined],
    ['Certificate', expiry(14 * day), /^expires in 14 d 0 h, on 1970-01-26 \d\d:\d\d$/],
    ['Certificate', expiry(14 * day - 1), /^expires in 13 d 23 h, on .*: renew it!$/],
    ['Certificate', expiry(0), /^expired on .*!$/],
  ] as const) {
    const text = facts(...lines)[name]
    if (expected === undefined) t.equal(text, undefined, name)
    else t.match(text, expected, `${name}: ${text}`)
  }
  t.end()
})
