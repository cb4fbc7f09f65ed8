/** Quantiles of a histogram, as Prometheus would estimate them. */
import t from 'tap'
import { quantile } from '../../dist/console/service/buckets.js'

const bounds = [1, 2, 4, Number.POSITIVE_INFINITY]

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
