/** Ten minutes of readings: rates and quantiles between them, gaps, restarts of the service, and what is forgotten. */
import t from 'tap'
import { History } from '../../dist/console/service/history.js'
import { type Reading, readingOf } from '../../dist/console/service/reading.js'

interface Counts {
  readonly startedS?: number
  readonly answered?: number
  readonly failed?: number
  /** Answers within 1 s, and others within 2 s. */
  readonly seconds?: readonly [number, number]
  readonly commits?: readonly [commits: number, writes: number]
  readonly pids?: readonly number[]
  readonly tookS?: number
}

function reading(atS: number, counts: Counts): Reading {
  const { startedS = 1, answered = 0, failed = 0, seconds = [0, 0], commits = [0, 0], pids = [], tookS = 0 } = counts
  const [fast, slow] = seconds
  const text = [
    `process_start_time_seconds ${startedS}`,
    `topicd_requests_total{status="200"} ${answered}`,
    ...(failed > 0 ? [`topicd_requests_total{status="500"} ${failed}`] : []),
    `topicd_request_duration_seconds_bucket{le="1"} ${fast}`,
    `topicd_request_duration_seconds_bucket{le="2"} ${fast + slow}`,
    `topicd_request_duration_seconds_bucket{le="+Inf"} ${fast + slow}`,
    `topicd_commit_writes_count ${commits[0]}`,
    `topicd_commit_writes_sum ${commits[1]}`,
    ...pids.map((pid) => `topicd_worker_resident_memory_bytes{pid="${pid}"} ${pid}`),
  ]
  return readingOf(text.join('\n'), { atS, tookS, serviceS: atS })
}

function historyOf(...readings: readonly Reading[]): History {
  const history = new History()
  for (const reading of readings) history.add(reading)
  return history
}

/** The answers per second of each moment, by class; null for a gap. */
function rates({ moments }: History): readonly (readonly [number, number] | null)[] {
  return moments.map(({ point }) => (point?.answers ? [point.answers['2xx'], point.answers['5xx']] : null))
}

t.test('a rate is between readings of one run, 1 to 6 s apart', (t) => {
  const often = [0, 0.1, 0.9, 1, 1.1].map((s) => reading(100 + s, { answered: Math.ceil(10 * s) }))
  const restarted = [
    reading(100, { answered: 1000, seconds: [50, 0] }),
    reading(102, { startedS: 101, answered: 2000, seconds: [60, 0] }),
    reading(104, { startedS: 101, answered: 2002, seconds: [62, 0] }),
    reading(106, { startedS: 101, answered: 7 }),
  ]
  for (const [name, readings, expected] of [
    [
      'an error that is the first of its kind counts',
      [reading(100, { answered: 10 }), reading(102, { answered: 16 }), reading(104.5, { answered: 26, failed: 5 })],
      [null, [3, 0], [4, 2]],
    ],
    ['no rate compares two runs of the service', restarted, [null, null, [1, 0], null]],
    [
      'slow responses, of 200 answers a second',
      [
        reading(100, { answered: 0 }),
        reading(102, { answered: 400, tookS: 1.6 }),
        reading(103.75, { answered: 750 }),
        reading(105.75, { answered: 1150, tookS: 1.5 }),
      ],
      [null, null, [200, 0], [200, 0]],
    ],
    ['a tab that is shown again and again', often, [null, null, null, [10, 0], [10, 0]]],
    [
      'a pause of more than 6 s has a moment of its own, so that no line crosses it',
      [
        reading(100, { answered: 0 }),
        reading(106, { answered: 6 }),
        reading(112.1, { answered: 12 }),
        reading(114.1, { answered: 16 }),
      ],
      [null, [1, 0], null, null, [2, 0]],
    ],
  ] as const) {
    t.strictSame(rates(historyOf(...readings)), expected, name)
  }
  const p50s = historyOf(...restarted).moments.map(({ point }) => point?.latencyS?.p50)
  t.strictSame(p50s, [undefined, undefined, 0.5, undefined])

  const history = historyOf(reading(100, { answered: 0 }), reading(102, { answered: 2 }))
  for (const atS of [104, 106, 108]) history.addGap(atS)
  history.add(reading(110, { answered: 20 }))
  history.add(reading(112, { answered: 22 }))
  t.strictSame(rates(history), [null, [1, 0], null, null, null, null, [1, 0]], 'rates continue only after a gap')
  t.end()
})

t.test('quantiles and means are of the last 30 s', (t) => {
  const history = historyOf(
    reading(100, { seconds: [0, 0], commits: [0, 0] }),
    reading(102, { seconds: [100, 0], commits: [10, 10] }),
    ...Array.from({ length: 14 }, (_, i) => reading(104 + 2 * i, { seconds: [100, 0], commits: [10, 10] })),
    reading(132, { seconds: [100, 10], commits: [11, 15] }),
    reading(134, { seconds: [100, 20], commits: [12, 20] }),
  )
  const points = history.moments.map(({ point }) => point)
  t.strictSame(points[1]?.latencyS, { p50: 0.5, p99: 0.99, leastS: 1, mostS: 2 })
  t.equal(points[1]?.writesPerCommit, 1)
  t.equal(points[15]?.latencyS?.p50, 0.5, 'the values of 100 to 102 still count at 130')
  t.strictSame(points.at(-1)?.latencyS, { p50: 1.5, p99: 1.99, leastS: 1, mostS: 2 }, 'and no more at 134')
  t.equal(points.at(-1)?.writesPerCommit, 5)
  t.strictSame(
    historyOf(reading(1, { seconds: [5, 0] }), reading(3, { seconds: [5, 0] })).moments[1]?.point?.latencyS,
    { p50: undefined, p99: undefined, leastS: 1, mostS: 2 },
    'without values there is none',
  )
  t.end()
})

t.test('ten minutes are kept, and a clock that is set back starts over', (t) => {
  const history = historyOf(...Array.from({ length: 400 }, (_, i) => reading(1000 + 2 * i, { answered: i })))
  const times = (): number[] => history.moments.map(({ atS }) => atS)
  t.match([times().length, times()[0]], [300, 1200])
  history.add(reading(1700, { answered: 400 }))
  t.strictSame(times(), [1700])
  history.addGap(2300)
  t.strictSame(times(), [2300], 'the limit itself is too old')
  t.equal(history.lastReading, undefined)
  t.end()
})

t.test('kept measurements come first, and fill what the page has missed', (t) => {
  const kept = Array.from({ length: 10 }, (_, i) => reading(100 + 5 * i, { answered: 10 * i }))
  const history = new History()
  t.ok(history.isBehind(146))
  history.addPast(kept)
  history.add(reading(146, { answered: 92 }))
  t.notOk(history.isBehind(148))
  t.strictSame(
    rates(history).slice(1),
    Array.from({ length: 10 }, () => [2, 0]),
    'rates from the start',
  )
  history.addPast(kept)
  t.equal(history.moments.length, 11, 'nothing comes twice')

  for (const atS of [148, 150, 152, 154]) history.addGap(atS)
  t.ok(history.isBehind(156))
  history.addPast([reading(145, {}), reading(150, { answered: 100 }), reading(155, { answered: 110 })])
  history.add(reading(157, { answered: 114 }))
  t.strictSame(
    history.moments.slice(11).map(({ atS, point }) => [atS, point?.answers?.['2xx']]),
    [
      [148, undefined],
      [150, 2],
      [155, 2],
      [157, 2],
    ],
    'moments that only this page has missed are filled',
  )
  t.end()
})
