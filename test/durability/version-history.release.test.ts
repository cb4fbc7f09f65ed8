/** The check of versions that the tests with load rely on: what it finds, and what it lets pass. */
import t from 'tap'
import type { Operation } from '../support/models/linearizable.js'
import { versionFaults } from '../support/models/version-history.js'

const read = (startMs: number, endMs: number, version: number, value: string): Operation => ({
  startMs,
  endMs,
  version,
  read: value,
})

t.test('versions that never go back, each with one value, are right', (t) => {
  t.strictSame(versionFaults([read(1, 2, 5, 'a'), read(3, 4, 5, 'a'), read(5, 6, 7, 'b')]), [])
  t.strictSame(versionFaults([read(1, 9, 7, 'b'), read(2, 8, 5, 'a')]), [], 'either came first, if both were in flight')
  t.strictSame(versionFaults([{ startMs: 1, endMs: 2, read: 'a' }, read(3, 4, 5, 'b')]), [], 'some are not known')
  t.end()
})

t.test('one that goes back is found', (t) => {
  const history = [read(5, 6, 6, 'b'), read(1, 2, 7, 'c'), read(7, 8, 7, 'c')]
  t.strictSame(versionFaults(history), ['version 6 was seen after 7'])
  t.end()
})

t.test('one that stays though the value changed is found', (t) => {
  t.strictSame(versionFaults([read(1, 2, 5, 'a'), read(3, 4, 5, 'b')]), ['version 5 has the value b, and a'])
  t.end()
})
