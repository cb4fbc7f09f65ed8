/** Which bucket of a histogram counts a value: that of the first bound not below it, or the last bucket. */
import t from 'tap'
import { createHistogram, secondsBounds } from '../../dist/base/histogram.js'

t.test('values are counted at the first bound that they do not exceed', (t) => {
  const histogram = createHistogram([1, 2, 5])
  for (const value of [0, 1, 1.001, 2, 4, 5, 5.001, 1000]) histogram.record(value)
  t.strictSame(histogram.read(), { bounds: [1, 2, 5], counts: [2, 2, 2, 2], sum: 1018.002 })
  t.end()
})

t.test('later values do not change what was read', (t) => {
  const histogram = createHistogram([1])
  const { counts } = histogram.read()
  histogram.record(1)
  t.strictSame(counts, [0, 0])
  t.strictSame(structuredClone(histogram.read()).counts, [1, 0], 'and can be sent to another process')
  t.end()
})

t.test('the bounds of durations ascend', (t) => {
  t.strictSame(
    secondsBounds,
    [...secondsBounds].sort((a, b) => a - b),
  )
  t.end()
})
