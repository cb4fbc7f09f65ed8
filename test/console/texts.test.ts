/** The text of the Service page: numbers, times and facts. */
import t from 'tap'
import { factsOf } from '../../dist/console/service/facts.js'
import * as formats from '../../dist/console/shared/formats.js'
import type { Facts } from '../../dist/ops/figures/console-state.js'

const day = 24 * 60 * 60

const local = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1000

t.test('numbers, bytes, durations and times are short and have units', async (t) => {
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
})

/** The text of each fact; "!" marks a bad fact. */
function textsOf(basis: Parameters<typeof factsOf>[0]): Record<string, string> {
  return Object.fromEntries(factsOf(basis).map(({ name, text, isBad }) => [name, isBad ? `${text}!` : text]))
}

/** The facts at 1,000,000 s. */
function facts(of: Partial<Facts>, pageVersion = of.version): Record<string, string> {
  const none = { workerVersions: {}, recentWorkerRestarts: 0, recentWriterRestarts: 0 }
  return textsOf({ facts: { ...none, ...of }, nowS: 1_000_000, pageVersion })
}

t.test('the versions of the service, its workers and the page are shown if they differ', async (t) => {
  const build = { version: '2.0', node: 'v20.1.0' }
  const same = { ...build, workers: 3, workerVersions: { '2.0': 3 } }
  t.match(facts(same), { Version: '2.0', 'Node.js': '20.1.0', Workers: '3' })
  t.match(facts({ ...same, workerVersions: { '2.1': 3 } }), { Workers: '3 of version 2.1' })
  t.match(facts({ ...build, workerVersions: { '2.0': 1, '2.1': 2 } }), {
    Workers: 'several versions: 1 of version 2.0, 2 of version 2.1!',
  })
  t.match(facts({ ...build, workers: 0 }), { Workers: '0: no worker is serving!' })
  const unknown = { Version: '–', 'Node.js': '–', Workers: '–', Topics: '–', 'Store size': '–' }
  t.match(facts({}), unknown)
  t.match(textsOf({ facts: {} as Facts, nowS: 1, pageVersion: undefined }), unknown, 'from another build')
  t.match(facts(build, '1.9'), { Version: '2.0; this page is from 1.9: reload it!' })
})

const lmdb = { topics: 1, diskFreeBytesMin: 1 }
const reload = (reloadSuccessful: number, startedS: number): Partial<Facts> => ({
  startedS,
  reloadSuccessful,
  reloadSuccessS: 999_940,
})
const expiry = (inS: number): Partial<Facts> => ({ certificateExpiresS: 1_000_000 + inS })

t.test('a fact about the service shows its age, is highlighted if bad, and is omitted if unknown', async (t) => {
  for (const [name, of, expected] of [
    ['Writer', { writerUp: 1, writerSpareUp: 1 }, /^running, with a spare$/],
    ['Writer', { writerUp: 1, writerSpareUp: 0 }, /^running, no spare yet$/],
    ['Writer', { writerUp: 0, writerSpareUp: 1 }, /^not running: writes are waiting!$/],
    ['Writer restarts', { writerUp: 1, writerRestarts: 0 }, /^0$/],
    ['Worker restarts', { workerRestarts: 1200 }, /^1,200$/],
    ['Worker restarts', { workerRestarts: 1200, recentWorkerRestarts: 2 }, /^1,200, 2 of them recently!$/],
    ['Writer', {}, undefined],
    ['Last reload', reload(1, 1), /^1 min 0 s ago, \d\d:\d\d$/],
    ['Last reload', reload(0, 1), /^failed; settings in use were loaded 1 min 0 s ago, .*!$/],
    // The start counts as a reload, but not a reload just after it.
    ['Last reload', reload(1, 999_940), /^none since the start$/],
    ['Last reload', reload(1, 999_939.5), /^1 min 0 s ago, /],
    ['Last reload', reload(0, 999_940), /^failed; /],
    ['Started', { startedS: 996_400 }, /^1 h 0 min ago, \d\d:\d\d$/],
    ['Started', { startedS: 100_000 }, /^10 d 10 h ago, 1970-01-02 \d\d:\d\d$/],
    ['Last backup', { ...lmdb, backupS: 913_600 }, /^1 d 0 h ago, /],
    ['Last backup', lmdb, /^none yet$/],
    ['Last backup', { topics: 1 }, undefined],
    // The number of topics is unknown because the store did not respond.
    ['Last backup', { diskFreeBytesMin: 1 }, /^–$/],
    ['Certificate', {}, undefined],
    ['Certificate', expiry(14 * day), /^expires in 14 d 0 h, on 1970-01-26 \d\d:\d\d$/],
    ['Certificate', expiry(14 * day - 1), /^expires in 13 d 23 h, on .*: renew it!$/],
    ['Certificate', expiry(0), /^expired on .*!$/],
  ] as const) {
    const text = facts(of)[name]
    if (expected === undefined) t.equal(text, undefined, name)
    else t.match(text, expected, `${name}: ${text}`)
  }
})
