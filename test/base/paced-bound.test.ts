/** Bounds that follow the duration of the work, between a minimum and a given maximum, by factors of two. */
import t from 'tap'
import { PacedBound } from '../../dist/base/paced-bound.js'

t.test('a bound doubles while full batches are quick, and halves when any batch is slow', (t) => {
  const bound = new PacedBound(1500)
  const after = (ms: number, isFull: boolean): number => {
    bound.took(ms, isFull)
    return bound.value
  }
  t.equal(bound.value, 250)
  t.equal(after(0, false), 250, 'a quick batch that does not fill the bound changes nothing')
  t.equal(after(1000, true), 250)
  t.equal(after(999, true), 500)
  t.equal(after(3000, true), 500)
  t.equal(after(3001, true), 250)
  t.equal(after(60_000, true), 250, 'the bound stays at its minimum')
  t.strictSame([after(0, true), after(0, true), after(0, true), after(0, true)], [500, 1000, 1500, 1500])
  t.equal(after(3001, false), 750, 'a slow batch counts even if it is not full')
  bound.took(3001, true, 1500)
  t.equal(bound.value, 750, 'a slow batch that started under the earlier bound changes nothing more')
  t.end()
})
