/** Bounds that follow how long something takes: between a least and a given most, by factors of two. */
import t from 'tap'
import { PacedBound } from '../../dist/base/paced-bound.js'

t.test('it is doubled while what fills it is quick, and halved when anything was slow', (t) => {
  const bound = new PacedBound(1500)
  const after = (ms: number, isFull: boolean): number => {
    bound.took(ms, isFull)
    return bound.value
  }
  t.equal(bound.value, 250)
  t.equal(after(0, false), 250, 'less says nothing of as much')
  t.equal(after(1000, true), 250)
  t.equal(after(999, true), 500)
  t.equal(after(3000, true), 500)
  t.equal(after(3001, true), 250)
  t.equal(after(60_000, true), 250, 'not below the least')
  t.strictSame([after(0, true), after(0, true), after(0, true), after(0, true)], [500, 1000, 1500, 1500])
  t.equal(after(3001, false), 750, 'what was slow is slow, however little it was')
  bound.took(3001, true, 1500)
  t.equal(bound.value, 750, 'and what was begun before that says the same')
  t.end()
})
