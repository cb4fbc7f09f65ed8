/** A key's rate in one worker, with a simulated clock. */
import t from 'tap'
import { RateLimit } from '../../dist/auth/rate-limit.js'

/** A limit, and a clock that the test moves. */
function limitOf(rate: number, sharers = 1) {
  let nowMs = 5000
  const limit = new RateLimit(rate, sharers, () => nowMs)
  /** Number of requests within the rate if `requests` arrive at the same time. */
  const take = (requests: number): number =>
    Array.from({ length: requests }, () => limit.tryTake()).filter((isWithin) => isWithin).length
  return { limit, take, pass: (ms: number) => (nowMs += ms) }
}

t.test("a burst of one second's requests is allowed, but no larger burst", (t) => {
  const { take } = limitOf(10)
  t.equal(take(11), 10)
  t.equal(take(1), 0)
  t.end()
})

t.test('requests after a burst are allowed at even intervals, and unused requests are not saved up', (t) => {
  const { take, pass } = limitOf(10)
  take(10)
  pass(99)
  t.equal(take(1), 0, 'before a tenth of a second')
  pass(1)
  t.equal(take(2), 1, 'after a tenth of a second')
  pass(3_600_000)
  t.equal(take(20), 10, 'after an hour')
  t.end()
})

t.test('a long flood is served at exactly the rate', (t) => {
  for (const [rate, sharers] of [
    [1, 4],
    [1, 1],
    [3, 1],
    [100, 3],
    [1000, 1],
  ] as const) {
    const perSecond = rate / sharers
    const { take, pass } = limitOf(rate, sharers)
    take(10_000)
    let allowed = 0
    for (let i = 0; i < 60_000; i++) {
      pass(1)
      allowed += take(3)
    }
    t.ok(Math.abs(allowed - 60 * perSecond) <= 1, `${allowed} in 60 s at ${perSecond} a second`)
  }
  t.end()
})

t.test('a share of the rate below one request per second still allows one request', (t) => {
  for (const [rate, sharers, seconds] of [
    [1, 1, 1],
    [2, 1, 1],
    [1_000_000, 64, 1],
    [1, 3, 3],
    [1, 64, 64],
    [2, 5, 3],
  ] as const) {
    t.equal(limitOf(rate, sharers).limit.retrySeconds, seconds, `${rate} a second over ${sharers} workers`)
  }
  let tooEarly = 0
  for (let sharers = 1; sharers <= 64; sharers++) {
    for (let rate = 1; rate <= 100; rate++) {
      const { limit, take, pass } = limitOf(rate, sharers)
      if (take(1) !== 1) tooEarly++
      take(200)
      pass(limit.retrySeconds * 1000)
      if (take(1) !== 1) tooEarly++
    }
  }
  t.equal(tooEarly, 0, 'a request after the retry time is always allowed')
  t.end()
})
