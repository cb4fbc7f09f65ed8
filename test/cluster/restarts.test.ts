/** The delay before a dead worker is replaced, and the failures after which the service exits. */
import t from 'tap'
import { failedStartsMax, RestartPolicy, youngMs } from '../../dist/cluster/primary/restarts.js'

t.test('a worker that served for a long time is replaced immediately', (t) => {
  const policy = new RestartPolicy()
  policy.onDeath({ nowMs: 100_000, livedMs: youngMs, served: true })
  t.ok(policy.notBeforeMs <= 100_000)
  policy.onDeath({ nowMs: 100_000, livedMs: youngMs - 1, served: true })
  t.equal(policy.notBeforeMs, 100_100, 'a worker that died young')
  t.end()
})

t.test('the delay before a restart doubles, up to five seconds, while workers die soon after their start', (t) => {
  const policy = new RestartPolicy()
  let nowMs = 50_000
  const delays = Array.from({ length: 8 }, () => {
    policy.onDeath({ nowMs, livedMs: 10, served: true })
    const delayMs = policy.notBeforeMs - nowMs
    nowMs = policy.notBeforeMs
    return delayMs
  })
  t.strictSame(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000])
  nowMs += youngMs
  policy.onDeath({ nowMs, livedMs: 10, served: true })
  t.equal(policy.notBeforeMs - nowMs, 100)
  t.end()
})

t.test('workers that die during a delay do not lengthen the delay', (t) => {
  const policy = new RestartPolicy()
  for (let i = 0; i < 20; i++) policy.onDeath({ nowMs: 50_000 + i, livedMs: 10, served: true })
  t.equal(policy.notBeforeMs, 50_100)
  t.end()
})

t.test('the service gives up after too many failed worker starts in a row', (t) => {
  const policy = new RestartPolicy()
  for (let i = 0; i < 1000; i++) policy.onDeath({ nowMs: i, livedMs: 10, served: true })
  t.notOk(policy.isHopeless, '1,000 deaths of workers that served are not too many')
  const fail = (): void => policy.onDeath({ nowMs: 0, livedMs: 10, served: false })
  for (let i = 0; i < failedStartsMax; i++) fail()
  t.notOk(policy.isHopeless, 'the allowed number of failed starts is not too many')
  policy.onServing()
  for (let i = 0; i < failedStartsMax; i++) fail()
  t.notOk(policy.isHopeless, 'a worker that serves resets the count')
  fail()
  t.ok(policy.isHopeless, 'one more failed start is too many')
  policy.onDeath({ nowMs: 0, livedMs: youngMs, served: true })
  t.notOk(policy.isHopeless, 'failed reloads do not count when a worker that served is killed')
  t.end()
})
