/** Quantiles of what was counted between two readings, as Prometheus would estimate them. */
import t from 'tap'
import { bucketsBetween, bucketsOf, quantile } from '../../dist/console/service/buckets.js'
import { parseMetricsText } from '../../dist/console/service/metrics-text.js'

const bounds = [1, 2, 4, Number.POSITIVE_INFINITY]

t.test('a histogram is the sum over its labels, with ascending bounds', (t) => {
  const text = [
    'd_bucket{le="+Inf",route="a"} 5',
    'd_bucket{le="2",route="a"} 3',
    'd_bucket{le="10",route="a"} 4',
    'd_bucket{le="2",route="b"} 1',
    'd_bucket{le="10",route="b"} 1',
    'd_bucket{le="+Inf",route="b"} 7',
    'd_sum{route="b"} 7',
  ].join('\n')
  t.strictSame(bucketsOf(parseMetricsText(text), 'd'), { bounds: [2, 10, Infinity], counts: [4, 5, 12] })
  t.strictSame(bucketsOf(parseMetricsText(text), 'e'), { bounds: [], counts: [] })
  t.end()
})

t.test('between two readings is what was added', (t) => {
  const before = { bounds, counts: [1, 2, 3, 4] }
  t.strictSame(bucketsBetween(before, { bounds, counts: [1, 4, 6, 8] }), { bounds, counts: [0, 2, 3, 4] })
  t.strictSame(bucketsBetween({ bounds: [], counts: [] }, before), before, 'the first values of all')
  t.equal(bucketsBetween(before, { bounds, counts: [0, 2, 3, 4] }), undefined, 'counting began anew')
  t.equal(bucketsBetween(before, { bounds: [1, 2, 3, Infinity], counts: [1, 4, 6, 8] }), undefined, 'other bounds')
  t.end()
})

t.test('a quantile is interpolated within its bucket', (t) => {
  const cases: readonly (readonly [counts: readonly number[], share: number, expected: number | undefined])[] = [
    [[0, 0, 0, 0], 0.5, undefined],
    [[10, 10, 10, 10], 0.5, 0.5],
    [[10, 10, 10, 10], 1, 1],
    [[5, 10, 10, 10], 0.5, 1],
    [[5, 10, 10, 10], 0.75, 1.5],
    [[0, 0, 10, 10], 0.5, 3],
    [[0, 5, 5, 10], 0.5, 2],
    [[0, 5, 5, 10], 0.51, 4],
    [[0, 0, 0, 10], 0.99, 4],
  ]
  for (const [counts, share, expected] of cases) {
    t.equal(quantile(share, { bounds, counts }), expected, `${share} of ${counts.join()}`)
  }
  t.equal(quantile(0.5, { bounds: [], counts: [] }), undefined)
  t.end()
})
