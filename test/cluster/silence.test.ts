/** The time without a message from a child, by a clock of the test. */
import t from 'tap'
import { type Child, watchSilence } from '../../dist/cluster/primary/child.js'
import { skippableTime } from '../support/skipped-time.js'

t.test("a child's silence is counted from its last message or from the end of the primary's suspension", (t) => {
  const time = skippableTime(t)
  let nowMs = 100_000
  performance.now = () => nowMs
  const child = { heardMs: nowMs }
  const silences: number[] = []
  watchSilence(
    () => [child as Child],
    8000,
    (_, silentMs) => void silences.push(silentMs),
  )
  const pass = (ms: number, times = 1): void => {
    for (let i = 0; i < times; i++) {
      nowMs += ms
      time.pass(0)
    }
  }
  pass(250, 31)
  t.strictSame(silences, [], 'silence is not reported before its time is over')
  child.heardMs = nowMs
  pass(250, 31)
  t.strictSame(silences, [], 'the child has sent something')
  pass(25_000)
  t.strictSame(silences, [], 'the primary was suspended')
  pass(250, 31)
  t.strictSame(silences, [], 'the time counts from the suspension')
  pass(250)
  t.strictSame(silences, [8000])
  t.end()
})
