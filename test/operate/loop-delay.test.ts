/** The window of event-loop delays: what it counts, what it forgets, and that reading it changes nothing. */
import t from 'tap'
import { LoopDelays } from '../../dist/ops/loop-delay.js'

/** Samples every 20 ms from 0 until a moment, each as late as given. */
function sampled(untilMs: number, lateMs: (nowMs: number) => number): LoopDelays {
  const delays = new LoopDelays()
  for (let nowMs = 0; nowMs <= untilMs; nowMs += 20) delays.record(nowMs, lateMs(nowMs))
  return delays
}

t.test('without samples every delay is 0', (t) => {
  t.strictSame(new LoopDelays().read(0), { median: 0, p99: 0, max: 0 })
  t.end()
})

t.test('the median, the 99th percentile and the maximum are those of the samples, in seconds', (t) => {
  const delays = new LoopDelays()
  for (let late = 1; late <= 200; late++) delays.record(late, late)
  t.strictSame(delays.read(200), { median: 0.1, p99: 0.198, max: 0.2 })
  t.end()
})

t.test('a delay is seen for 15 s, by every reader, and then no more', (t) => {
  const delays = sampled(20_000, (nowMs) => (nowMs === 5020 ? 700 : 1))
  for (const reader of [1, 2]) t.equal(delays.read(20_000).max, 0.7, `reader ${reader}`)
  t.equal(delays.read(20_019).max, 0.7)
  t.equal(delays.read(20_020).max, 0.001)
  t.end()
})

t.test('samples that are far apart, since the loop was blocked, are forgotten by their age', (t) => {
  const delays = new LoopDelays()
  for (const atMs of [1000, 10_000, 20_000]) delays.record(atMs, atMs)
  t.equal(delays.read(24_999).max, 20)
  t.equal(delays.read(25_000).median, 20, 'that of 10,000 is gone')
  t.strictSame(delays.read(35_000), { median: 0, p99: 0, max: 0 })
  t.end()
})
