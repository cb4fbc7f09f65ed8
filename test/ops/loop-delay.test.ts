/** The window of event-loop delays: the delays that count, the ones that are forgotten, and reads without side effects. */
import t from 'tap'
import { LoopDelays } from '../../dist/ops/loop-delay.js'

/** Samples every 20 ms from 0 to `untilMs`, each as late as given. */
function sampled(untilMs: number, lateMs: (nowMs: number) => number): LoopDelays {
  const delays = new LoopDelays()
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 20) delays.record(nowMs, lateMs(nowMs))
  return delays
}

t.test('every delay is 0 without samples', (t) => {
  t.strictSame(new LoopDelays().read(0), { median: 0, p99: 0, max: 0 })
  t.end()
})

t.test('quantiles and maximum are derived from the samples, in seconds', (t) => {
  const delays = new LoopDelays()
  for (let i = 1; i <= 200; i++) delays.record(i, i / 20)
  t.strictSame(delays.read(200), { median: 0.005, p99: 0.0099, max: 0.01 })
  t.end()
})

t.test('a stall of the event loop counts for its whole duration', (t) => {
  const delays = sampled(15_000, (nowMs) => (nowMs === 10_000 ? 5000 : 1))
  const { median, p99, max } = delays.read(15_000)
  t.equal(max, 5)
  t.ok(p99 > 4.8, `${p99} s: one timer in 100 was later`)
  t.equal(median, 0.001)
  delays.record(40_000, 25_000)
  t.strictSame(delays.read(40_000).max, 25, 'a stall longer than the window fills it')
  t.ok(delays.read(40_000).median > 10)
  t.end()
})

t.test('a delay is visible to every reader for 15 s', (t) => {
  const delays = sampled(20_000, (nowMs) => (nowMs === 5020 ? 700 : 1))
  for (const reader of [1, 2]) t.equal(delays.read(20_000).max, 0.7, `reader ${reader}`)
  t.equal(delays.read(20_019).max, 0.7)
  t.equal(delays.read(20_020).max, 0.001)
  t.end()
})

t.test('samples expire by age, even if the event loop was blocked', (t) => {
  const delays = new LoopDelays()
  for (const atMs of [1000, 10_000, 20_000]) delays.record(atMs, atMs)
  t.equal(delays.read(24_999).max, 20)
  t.ok(delays.read(25_000).median > 10, 'the sample of 10,000 is gone')
  t.strictSame(delays.read(35_000), { median: 0, p99: 0, max: 0 })
  t.end()
})
