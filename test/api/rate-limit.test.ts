/** The rate of a key in one worker, with a simulated clock. */
import t from 'tap'
import { RateLimit } from '../../dist/auth/rate-limit.js'

/** A limit, and a clock that is moved by hand. */
function limitOf(perSecond: number) {
  let nowMs = 5000
  const limit = new RateLimit(perSecond, () => nowMs)
  /** How many of `requests` at once are within the rate. */
  const take = (requests: number): number =>
    Array.from({ length: requests }, () => limit.tryTake()).filter((isWithin) => isWithin).length
  return { limit, take, pass: (ms: number) => (nowMs += ms) }
}

t.test('a second of requests may come at once, and not one more', (t) => {
  const { take } = limitOf(10)
  t.equal(take(11), 10)
  t.equal(take(1), 0)
  t.end()
})

t.test('after that, requests are allowed evenly, and what was not used is not saved up', (t) => {
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

t.test('over a long time a flood gets exactly the rate', (t) => {
  for (const perSecond of [0.25, 1, 3, 100 / 3, 1000]) {
    const { take, pass } = limitOf(perSecond)
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

t.test('a share below one request a second still allows one, and says how long to wait for the next', (t) => {
  for (const [perSecond, seconds] of [
    [1, 1],
    [2, 1],
    [1_000_000, 1],
    [1 / 3, 3],
    [1 / 64, 64],
    [0.4, 3],
  ] as const) {
    const { limit, take, pass } = limitOf(perSecond)
    t.equal(limit.retrySeconds, seconds, `${perSecond} a second`)
    t.ok(take(1) === 1, 'the first request is allowed')
    take(2_000_000)
    pass(seconds * 1000)
    t.ok(take(1) === 1, `one more is allowed after ${seconds} s`)
  }
  t.end()
})
